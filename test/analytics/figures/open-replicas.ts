import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { FactAccess } from '../../../domain/analytics/figures/open-source.ts'
import { type ReplicaOptions, type Replicas, replicasOf } from '../../../domain/analytics/figures/replica/replicas.ts'
import { proceedsRates } from '../../../domain/events/money.ts'
import { connect, type Pool } from '../../../store/connect.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'

/** `answers`: what answered each question. `fallbacks`: why Postgres answered. */
export type Opened = { access: FactAccess; answers: string[]; fallbacks: string[]; errors: string[]; close: () => Promise<void> }

/** Opens replicas as a process has them, of any number of facts. */
function openingReplicas({ pool, scanning, folder }: { pool: Pool; scanning: Pool; folder: string }) {
  const opened: Replicas[] = []
  const open = (options: Partial<ReplicaOptions> = {}): Opened => {
    const answers: string[] = []
    const fallbacks: string[] = []
    const errors: string[] = []
    const replicas = replicasOf({
      ...{ pool: scanning, folder, memory: '384MB', from: 0, patienceMs: 60_000 },
      onAnswer: (by, why) => {
        answers.push(by)
        if (why !== undefined) fallbacks.push(why)
      },
      onError: error => errors.push(error.message),
      ...options,
    })
    opened.push(replicas)
    return {
      access: { pool, scanning, replicas, proceedsRates: proceedsRates({}), drainMs: 60_000 },
      answers,
      fallbacks,
      errors,
      close: () => replicas.close(),
    }
  }
  open.closeAll = () => Promise.all(opened.splice(0).map(replicas => replicas.close()))
  return open
}

/** An API, and for each test a project and a folder in which it opens replicas. `scanning`: a pool that may read many rows. */
export type ReplicaSetting = {
  api: TestApi
  scanning: Pool
  folder: string
  project: TestProjectKeys
  open: ReturnType<typeof openingReplicas>
}

/** The setting of the tests of a file; its fields are there while a test runs. */
export function settingWithReplicas(): ReplicaSetting {
  const setting = {} as ReplicaSetting
  beforeAll(async () => {
    setting.api = await startApi()
    setting.scanning = connect({ url: setting.api.databaseUrl, scans: true })
  })
  afterAll(async () => {
    await setting.scanning.end()
    await setting.api.stop()
  })
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perennial-replica-test-'))
    const { api, scanning } = setting
    const open = openingReplicas({ pool: api.pool, scanning, folder })
    Object.assign(setting, { folder, open, project: await api.newProject() })
    return async () => {
      await open.closeAll()
      await rm(folder, { recursive: true, force: true })
    }
  })
  return setting
}

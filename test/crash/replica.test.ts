import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type FactAccess, withFacts } from '../../domain/analytics/figures/open-source.ts'
import { replicasOf } from '../../domain/analytics/figures/replica/replicas.ts'
import { proceedsRates } from '../../domain/events/money.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
import { launch } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const KILLS = share(6)

// Processes start in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let api: TestApi
let scanning: Pool
let folder: string
beforeAll(async () => {
  api = await startApi()
  scanning = connect({ url: api.databaseUrl, scans: true })
  folder = await mkdtemp(join(tmpdir(), 'perennial-replica-crash-'))
})
afterAll(async () => {
  await scanning.end()
  await api.stop()
  await rm(folder, { recursive: true, force: true })
})

let sales = 0
async function sell(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const n = sales++
    return {
      ...{ event_id: `sale-${n}`, event_name: 'in_app_purchase', identity_id: `user-${n % 50}`, platform: 'iOS', product_id: 'coins' },
      ...{ happened_at: '2026-03-01T12:00:00Z', transaction: { transaction_id: `sale-${n}` }, price: '1', currency: 'USD' },
    }
  })
  const { body } = await api.call('POST', '/v4/events', { body: { events } })
  expect(body).toMatchObject({ created: count })
}

const reader = () =>
  launch({
    script: 'test/crash/replica-reader.ts',
    env: { DATABASE_URL: api.databaseUrl, REPLICAS: folder, ENVIRONMENT: String(api.project.production) },
  })

const rowsOf = (access: FactAccess) =>
  withFacts(access, api.project.production, async ({ query, dialect }) => {
    const { transactions, users } = dialect.tables
    const all = [`${transactions} t order by t.id`, `${users} t order by t.user_no`]
    return Promise.all(all.map(from => query({ text: `select t.* from ${from}` })))
  })

/** What a process that opens replicas in the folder reads. */
async function readFrom(folder: string) {
  const answers: string[] = []
  const errors: string[] = []
  const replicas = replicasOf({
    ...{ pool: scanning, folder, memory: '384MB', from: 0, patienceMs: 60_000 },
    onAnswer: by => answers.push(by),
    onError: error => errors.push(error.message),
  })
  try {
    return {
      rows: await rowsOf({ pool: api.pool, scanning, replicas, proceedsRates: proceedsRates({}), drainMs: 60_000 }),
      answers,
      errors,
    }
  } finally {
    await replicas.close()
  }
}

test('processes killed while they follow the facts: the file that they leave has every fact once', async () => {
  await sell(200)
  for (let kill = 0; kill < KILLS; kill++) {
    const process = reader()
    // The first ones die while they make the file or open it, the others between any two pulls, or in one.
    if (kill >= 2) await until('the replica answers', () => (process.output().includes('replica') ? true : undefined))
    else await pause(400 + 300 * kill)
    for (let n = 0; n < 5; n++) await sell(20)
    await process.end('SIGKILL')
    expect(process.output()).not.toMatch(/broken|Error/)
  }
  const followed = await readFrom(folder)
  expect([followed.answers, followed.errors]).toEqual([['replica'], []])
  // No rows that were on their way to the file either.
  const left = (await readdir(folder)).filter(name => name !== 'spill' && !name.endsWith('.wal'))
  expect(left).toEqual([expect.stringMatching(/\.duckdb$/)])
  const fresh = await readFrom(join(folder, 'fresh'))
  expect(followed.rows).toEqual(fresh.rows)
})

test('a second process has a file of its own', async () => {
  const first = reader()
  await until('the replica answers', () => (first.output().includes('replica') ? true : undefined))
  const second = await readFrom(folder)
  expect([second.answers, second.errors, second.rows[0]!.length]).toEqual([['replica'], [], sales])
  await first.end('SIGKILL')
})

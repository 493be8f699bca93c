import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { startApi } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'
import { driveAll } from '../harness/drive-all.ts'
import { evenLoad } from '../harness/even-load.ts'
import { startInstallation } from '../harness/installation.ts'
import { type PgBouncer, startPgBouncer } from '../harness/pgbouncer.ts'
import { launch } from '../harness/process.ts'

vi.setConfig({ testTimeout: 540_000 })

/** Fewer than the processes have connections, so that transactions change their sessions. */
const SESSIONS = 4
let bouncer: PgBouncer
beforeAll(async () => {
  bouncer = await startPgBouncer(inject('embedded').url, 'transaction', SESSIONS)
})
afterAll(() => bouncer?.end())

const nameIn = (url: string) => new URL(url).pathname.slice(1)

test('every operation works through PgBouncer in transaction mode', async () => {
  const api = await startApi({ worker: true, leaseMs: 30_000, poolerFor: url => bouncer.url(nameIn(url)) })
  try {
    await driveAll(api)
  } finally {
    await api.stop()
  }
})

test('an API behind it and workers beside it: nothing is lost, nothing twice, and no statement fails', async () => {
  const database = await freshDatabase()
  const pooler = { DATABASE_URL: bouncer.url(nameIn(database.url)), DATABASE_DIRECT_URL: database.url, LOG_LEVEL: 'warn' }
  const site = await startInstallation({ driver: 'pg-boss', database, leaseSeconds: 10, env: pooler })
  try {
    const workers = await Promise.all([site.worker(), site.worker()])
    const { rows } = await database.pool.query(
      `select distinct application_name as name from pg_stat_activity where datname = current_database() order by 1`,
    )
    // What requests use is in the pooler; the look-up of keys and what notices failures is not.
    expect(rows.map(({ name }) => name)).toContain('perennial-callers')
    await evenLoad(site, async () => ({ whenUsed: Promise.resolve() }))
    expect([site.api, ...workers].map(running => running.output()).join('')).not.toMatch(/"level":(40|50|60)/)
  } finally {
    await site.end()
  }
})

test('addresses of two databases are refused', async () => {
  const [one, other] = [await freshDatabase(), await freshDatabase()]
  const folder = await mkdtemp(join(tmpdir(), 'perennial-pooler-'))
  const addresses = { DATABASE_URL: bouncer.url(nameIn(one.url)), DATABASE_DIRECT_URL: other.url }
  const env = { ...addresses, APP_SECRET: 'a secret for tests only, long enough', DATA_DIR: folder, ROLE: 'api', PORT: '0' }
  const refused = launch({ env })
  expect(await refused.ended).toBe(1)
  expect(refused.output()).toBe('perennial: DATABASE_URL and DATABASE_DIRECT_URL lead to different databases\n')
  await rm(folder, { recursive: true })
  await one.drop()
  await other.drop()
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { type Client, client } from '../harness/client.ts'
import { endLeases } from '../harness/crash-fixture.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { IS_WHOLE } from '../harness/effort.ts'
import { item } from '../harness/events.ts'
import { run } from '../harness/process.ts'
import { reportTo, type Shown } from '../harness/reports.ts'
import { type Sink, startSink } from '../harness/sink.ts'
import { until } from '../harness/until.ts'

const SECRET = `sk_${'r'.repeat(40)}`
type Death = [CrashPoint, number, rows?: number]
/**
 * Where it dies, and at which of its passages. The later ones lie in the delivery. `rows`: of a part; a file of one part is published with
 * others. Each point, while the file is made and while it is delivered.
 */
const DEATHS: Death[] = [
  ['claimed', 2],
  ['before-effect', 4],
  ['after-effect', 5],
  ['recorded', 9],
  ['before-end', 1],
  ['ended', 1],
  ['after-effect', 1, 1000],
  ['recorded', 1, 1000],
  ['before-effect', 2, 1000],
]
/** Other passages of the same points, for `npm run test:crash`. */
const OTHER_PASSAGES: Death[] = [
  ['claimed', 1],
  ['after-effect', 1],
  ['recorded', 1],
  ['recorded', 8],
  ['after-effect', 6],
  ['before-effect', 1, 1000],
  ['before-end', 1, 1000],
  ['after-effect', 2, 1000],
  ['recorded', 2, 1000],
]
const EVENTS = 60

let database: FreshDatabase
let folder: string
let sink: Sink
let call: Client
let api: Awaited<ReturnType<typeof run>>
let report: Shown
let number: number
const env = (role: string, more: Record<string, string> = {}) => ({
  DATABASE_URL: database.url,
  APP_SECRET: 'a secret for tests only, long enough',
  BOOTSTRAP_SECRET_KEY: SECRET,
  DATA_DIR: folder,
  ROLE: role,
  PORT: '0',
  PUBLIC_URL: api?.url ?? 'http://localhost:1',
  LEASE_SECONDS: '1',
  EXPORT_PART_ROWS: '20',
  ALLOW_PRIVATE_NETWORK: 'true',
  LOG_LEVEL: 'fatal',
  ...more,
})

beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'perennial-reports-'))
  sink = await startSink()
  api = await run({ env: env('api') })
  call = client(api.url, `test_${SECRET}`)
  const integration = { title: 'Here', integration: 'webhooks', target_platform: 'iOS' }
  const { id } = (await call('POST', '/v4/integrations', { body: integration })).body
  await call('PUT', `/v4/integrations/${id}/config`, { body: { settings: { url: sink.url, sandbox_url: sink.url }, events: [] } })
  await call('POST', `/v4/integrations/${id}/status`, { body: { status: 1 } })
  report = (await call('POST', '/v4/scheduled-reports', { body: reportTo([id]) })).body
  number = (await database.pool.query('select number from scheduled_reports where id = $1', [report.id])).rows[0].number
})
afterAll(async () => {
  await api?.end()
  await sink.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** To a moment after the next slot. */
const toNextSlot = () =>
  database.pool.query(
    `update environments e set clock_offset = e.clock_offset + (r.next_slot - environment_now(e.id)) + interval '1 second'
     from scheduled_reports r where r.number = $1 and e.id = r.environment`,
    [number],
  )
const toRetry = () =>
  database.pool.query(
    `update environments e set clock_offset = e.clock_offset + interval '2 minutes' from scheduled_reports r where r.number = $1 and e.id = r.environment`,
    [number],
  )
const runs = async (): Promise<Shown[]> => (await call('GET', `/v4/scheduled-reports/${report.id}/runs?limit=100`)).body.data

test('a worker that dies between any two changes of the world: every slot has one run, and every event is in one file', async () => {
  sink.arrived.length = 0
  const deaths = IS_WHOLE ? [...DEATHS, ...OTHER_PASSAGES] : DEATHS
  const posted: string[] = []
  const found: string[] = []
  for (const [n, [name, after, rows = 20]] of deaths.entries()) {
    const events = Array.from({ length: EVENTS }, (_, i) =>
      item({ identity_id: `u${i % 9}`, transaction: { transaction_id: `${n}-${i}` } }),
    )
    posted.push(...events.map((_, i) => `${n}-${i}`))
    expect((await call('POST', '/v4/events', { body: { events } })).body.created).toBe(EVENTS)
    const deadly = { CRASH_POINT: name, CRASH_AFTER: String(after), EXPORT_PART_ROWS: String(rows) }
    const dying = await run({ env: env('worker', deadly), script: 'test/crash/worker-at-point.ts' })
    await toNextSlot()
    // The last ones lie after the transaction that ends the run: the run may be seen as finished before its worker dies.
    await until(`the end of the worker at ${name} ${after}`, async () => (dying.child.signalCode !== null ? true : undefined))
    const death = dying.child.signalCode
    await dying.end('SIGKILL')
    expect([name, after, death]).toEqual([name, after, 'SIGKILL'])
    // The first ones end by themselves.
    if (n > 0) await endLeases(database.pool)
    const heir = await run({ env: env('worker') })
    await until(`the run after ${name} ${after}`, async () => {
      const all = await runs()
      if (all.length === n + 1 && all.every(({ status }) => status === 'finished')) return true
      // An attempt that failed with its worker waits for its time.
      if (all[0]?.destinations[0]?.attempts > 0) await toRetry()
      return undefined
    })
    await heir.end()
    // In a week of the sandbox it will have expired.
    const text = await (await fetch(sink.arrived.at(-1)!.body.file_url)).text()
    found.push(...(parse(text, { columns: true }) as Record<string, string>[]).map(row => row['Transaction ID']!))
  }

  const all = (await runs()).reverse()
  expect(all.map(({ outcome }) => outcome)).toEqual(all.map(() => 'delivered'))
  expect(new Set(all.map(({ slot }) => slot)).size).toBe(all.length)
  // What died after it was sent is sent again, under the same id.
  const received = new Map(sink.arrived.map(({ headers, body }) => [headers['webhook-id'], body.run_id]))
  expect([...received.values()].sort()).toEqual(all.map(({ id }) => id).sort())
  expect(found.sort()).toEqual(posted.sort())
  const left = await database.pool.query(
    `select kind from due where kind in ('scheduled-report', 'report-file', 'report-delivery', 'report-upload')`,
  )
  expect(left.rows).toEqual([])
}, 400_000)

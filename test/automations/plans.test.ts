// Statements find their rows by an index that leads to them, also before anybody has looked at the statistics of full tables.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backtest } from '../../domain/automations/backtest/backtest.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { type Ground, ground } from './ground.ts'

const RUNS = 20_000
let api: TestApi
let g: Ground
let automation: { id: string; url: string; data: never }
let user: string
beforeAll(async () => {
  api = await startApi()
  g = await ground(api)
  for (const table of ['automation_runs', 'events', 'due', 'event_waits'])
    await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  const frequency = { max_runs_per_user: 50, per: 'day' }
  automation = await g.automation({ reentry: false, frequency })
  user = await g.user()
  await api.pool.query(
    `with made as (
       insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
         log_offset, position, status, due_at, created_at)
       select $1, 'run_' || n, $2, 1, 'user_' || n, 'evt_' || n, 'go', now(), now(), 0, 0, 0, 'waiting', now() + interval '1 day', now()
       from generate_series(1, ${RUNS}) n returning number, due_at)
     insert into due (kind, id, environment, due_at) select 'automation-run', number, $1, due_at from made`,
    [g.environment, automation.id],
  )
  // In partitions that nobody reads here.
  await api.pool.query(
    `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
     select $1, 70, n, 'evt_' || n, 'e_' || n, 'quiet', 'user_' || n, now() - interval '2 days', now() - interval '2 days' from generate_series(1, ${RUNS}) n`,
    [g.environment],
  )
})
afterAll(() => api.stop())

const read = async (table: string): Promise<number> => (await rowsRead([api.pool], [table]))[table]!
async function cost(work: () => Promise<unknown>, table = 'automation_runs'): Promise<number> {
  const before = await read(table)
  await work()
  return (await read(table)) - before
}
const go = () => g.tell(Array.from({ length: 5 }, () => ({ event_name: 'go', customer_uid: user })))

test('events that come look at the runs of their user', async () => {
  await go()
  expect(await cost(() => g.read())).toBeLessThan(200)
  await go()
  expect(await cost(() => g.read(), 'due')).toBeLessThan(200)
})

test('lists read their page, one run is found by its id', async () => {
  expect(await cost(() => g.call('GET', `${automation.url}/runs`))).toBeLessThan(200)
  expect(await cost(() => g.call('GET', `${automation.url}/runs?starting_after=run_777`))).toBeLessThan(200)
  expect(await cost(() => g.call('GET', `${automation.url}/runs?filter[user_id]=user_777`))).toBeLessThan(200)
  expect(await cost(() => g.call('GET', `${automation.url}/runs?from=2099-01-01T00:00:00Z`))).toBeLessThan(200)
  expect(await cost(() => g.call('GET', '/v4/automation-runs/run_777'))).toBeLessThan(20)
  expect(await cost(() => g.call('POST', '/v4/automation-runs/run_777/cancel'))).toBeLessThan(50)
  expect(await cost(() => g.call('POST', '/v4/automation-runs/run_777/replay'))).toBeLessThan(50)
})

test('a backtest looks at the events of its window and of their users', async () => {
  const steps = [{ id: 'w', type: 'wait_for_event', event: 'quiet', timeout: 'PT1S', on_timeout: [] }]
  const window = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() }
  const played = () =>
    transaction(api.pool, tx => backtest(tx, g.environment, { ...(automation.data as object), reentry: true, steps } as never, window))
  expect(await cost(played, 'events')).toBeLessThan(500)
})

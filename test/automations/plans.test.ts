// Statements find their rows by a selective index, even when the statistics of full tables are missing.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noteUnsuccessful } from '../../domain/automations/automation-runs/run.ts'
import { backtest } from '../../domain/automations/backtest/backtest.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { type AutomationProject, automationProject, on } from './fixture.ts'

const RUNS = 20_000
let api: TestApi
let fixture: AutomationProject
let automation: { id: string; url: string; data: never }
let user: string
beforeAll(async () => {
  api = await startApi()
  fixture = await automationProject(api)
  for (const table of ['automation_runs', 'events', 'due', 'event_waits'])
    await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  const frequency = { max_runs_per_user: 50, per: 'day' }
  automation = await fixture.automation({ reentry: false, frequency })
  user = await fixture.user()
  await api.pool.query(
    `with inserted as (
       insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
         log_offset, position, status, due_at, created_at)
       select $1, 'run_' || n, $2, 1, 'user_' || n, 'evt_' || n, 'go', now(), now(), 0, 0, 0, 'waiting', now() + interval '1 day', now()
       from generate_series(1, ${RUNS}) n returning number, due_at)
     insert into due (kind, id, environment, due_at) select 'automation-run', number, $1, due_at from inserted`,
    [fixture.environment, automation.id],
  )
  // In partitions that these tests do not read.
  await api.pool.query(
    `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
     select $1, 70, n, 'evt_' || n, 'e_' || n, 'quiet', 'user_' || n, now() - interval '2 days', now() - interval '2 days' from generate_series(1, ${RUNS}) n`,
    [fixture.environment],
  )
})
afterAll(() => api.stop())

const read = async (table: string): Promise<number> => (await rowsRead([api.pool], [table]))[table]!
async function cost(work: () => Promise<unknown>, table = 'automation_runs'): Promise<number> {
  const before = await read(table)
  await work()
  return (await read(table)) - before
}
const go = () => fixture.post(Array.from({ length: 5 }, () => ({ event_name: 'go', customer_uid: user })))

test('new events read only the runs of their user', async () => {
  await go()
  expect(await cost(() => fixture.read())).toBeLessThan(200)
  await go()
  expect(await cost(() => fixture.read(), 'due')).toBeLessThan(200)
})

test('new events do not read the skipped runs of their user', async () => {
  await api.pool.query(
    `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
       log_offset, position, status, reason, is_skipped, created_at, finished_at)
     select $1, 'run_skipped_' || n, $2, 1, $3, 'evt_skipped_' || n, 'go', now(), now(), 0, 0, 0, 'skipped', 'frequency_capped', true, now(), now()
     from generate_series(1, ${RUNS}) n`,
    [fixture.environment, automation.id, user],
  )
  await go()
  expect(await cost(() => fixture.read())).toBeLessThan(200)
})

test('a list reads only its page, and a run is found by its id', async () => {
  expect(await cost(() => fixture.call('GET', `${automation.url}/runs`))).toBeLessThan(200)
  expect(await cost(() => fixture.call('GET', `${automation.url}/runs?starting_after=run_777`))).toBeLessThan(200)
  expect(await cost(() => fixture.call('GET', `${automation.url}/runs?filter[user_id]=user_777`))).toBeLessThan(200)
  expect(await cost(() => fixture.call('GET', `${automation.url}/runs?from=2099-01-01T00:00:00Z`))).toBeLessThan(200)
  expect(await cost(() => fixture.call('GET', '/v4/automation-runs/run_777'))).toBeLessThan(20)
  expect(await cost(() => fixture.call('POST', '/v4/automation-runs/run_777/cancel'))).toBeLessThan(50)
  expect(await cost(() => fixture.call('POST', '/v4/automation-runs/run_777/replay'))).toBeLessThan(50)
})

test('the list of automations reads a bounded part of their runs', async () => {
  expect(await cost(() => fixture.call('GET', '/v4/automations'))).toBeLessThan(5_100)
  const { runs, skipped, is_complete } = (await fixture.call('GET', automation.url)).body.activity
  expect([is_complete, Math.min(5_000, runs + skipped)]).toEqual([false, 5_000])
})

test('stopping and resuming an automation read only its own runs, however many runs of others wait', async () => {
  const other = await fixture.automation()
  await fixture.post(Array.from({ length: 3 }, () => ({ event_name: 'go', customer_uid: user })))
  await fixture.read()
  expect(await fixture.runs(other.id)).toHaveLength(3)
  for (const table of ['automation_runs', 'due']) {
    await fixture.setStatus(other.id, 'paused')
    expect(await cost(() => fixture.setStatus(other.id, 'active'), table)).toBeLessThan(200)
    expect(await cost(() => fixture.setStatus(other.id, 'inactive'), table)).toBeLessThan(200)
    await fixture.setStatus(other.id, 'active')
  }
})

test('a list of runs with a rare status reads only its page', async () => {
  const add = (status: string, count: number) =>
    api.pool.query(
      `with ended as (
         insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
           log_offset, position, status, created_at, finished_at)
         select $1, 'run_' || $3 || n, $2, 1, 'user_' || n, $3 || n, 'go', now(), now(), 0, 0, 0, $3,
           now() - interval '1 day' - make_interval(secs => n), now() from generate_series(1, $4) n returning *
       ) ${noteUnsuccessful('ended')}`,
      [fixture.environment, automation.id, status, count],
    )
  await add('succeeded', RUNS)
  await add('failed', 120)
  await add('cancelled', 60)
  const url = `${automation.url}/runs`
  const walk = async (filter: string, limit = 50) => {
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await fixture.call('GET', `${url}?limit=${limit}&${filter}${cursor}`)
      ids.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.next_cursor) return ids
      cursor = `&starting_after=${body.next_cursor}`
    }
  }
  const numbered = (status: string, count: number) => Array.from({ length: count }, (_, i) => `run_${status}${i + 1}`)
  const failed = numbered('failed', 120)
  let walked: string[] = []
  const read = await cost(async () => {
    walked = await walk('filter[status][]=failed')
  })
  expect(walked).toEqual(failed)
  expect(read).toBeLessThan(1_000)
  expect(await walk('filter[status][]=cancelled')).toHaveLength(61)
  const both = await walk('filter[status][]=failed&filter[status][]=cancelled')
  expect(both.filter(id => id.startsWith('run_failed'))).toEqual(failed)
  expect(both).toHaveLength(181)
  // The unfinished runs of the environment are few: their jobs tell.
  await api.pool.query(`delete from due where kind = 'automation-run' and id > 5`)
  await api.pool.query(`update automation_runs set status = 'succeeded' where status = 'waiting' and number > 5`)
  expect(await cost(async () => expect(await walk('filter[status][]=waiting', 2)).toHaveLength(5))).toBeLessThan(300)
})

test('a list of the runs of all automations reads only its page', async () => {
  for (let i = 0; i < 3; i++) await fixture.automation()
  const list = (query: string) => fixture.call('GET', `/v4/automation-runs?${query}`)
  expect(await cost(() => list(''))).toBeLessThan(300)
  expect(await cost(() => list('starting_after=run_777'))).toBeLessThan(300)
  expect(await cost(() => list('filter[user_id]=user_777'))).toBeLessThan(100)
  expect(await cost(() => list('to=2020-01-01T00:00:00Z'))).toBeLessThan(100)
  expect(await cost(() => list('filter[status][]=failed'))).toBeLessThan(300)
  // None of them waits for a second attempt.
  expect(await cost(async () => expect((await list('filter[status][]=retrying')).body.data).toEqual([]))).toBeLessThan(100)
})

test('a page of runs that nearly none fits reads a part of them, and says where it ended', async () => {
  const own = await fixture.automation({ initiators: on('go', 'rare') })
  const add = (name: string, count: number) =>
    api.pool.query(
      `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
         log_offset, position, status, created_at, finished_at)
       select $1, 'run_' || $3 || n, $2, 1, 'user_' || n, $3 || n, $3, now(), now(), 0, 0, 0, 'succeeded',
         now() - interval '9 days' - make_interval(secs => n), now() from generate_series(1, $4) n`,
      [fixture.environment, own.id, name, count],
    )
  await add('go', 15_500)
  await api.pool.query(`update automation_runs set event_name = 'rare' where id = 'run_go15500'`)
  const pages: string[][] = []
  for (let cursor = ''; ; ) {
    let page: { data: { id: string }[]; next_cursor?: string } = { data: [] }
    const read = await cost(async () => {
      page = (await fixture.call('GET', `/v4/automation-runs?filter[event_name][]=rare${cursor}`)).body
    })
    // Each run that is looked at is read twice.
    expect(read).toBeLessThan(25_000)
    pages.push(page.data.map(({ id }) => id))
    if (!page.next_cursor) break
    cursor = `&starting_after=${page.next_cursor}`
  }
  expect(pages).toEqual([[], [`run_go15500`]])
})

test('a backtest reads only the events of its window and of their users', async () => {
  const steps = [{ id: 'w', type: 'wait_for_event', event: 'quiet', timeout: 'PT1S', on_timeout: [] }]
  const window = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() }
  const simulate = () =>
    transaction(api.pool, tx =>
      backtest(tx, fixture.environment, { ...(automation.data as object), reentry: true, steps } as never, window),
    )
  expect(await cost(simulate, 'events')).toBeLessThan(500)
})

// After the backtest, whose window has what this posts.
test('new events read a list of people no further than their own users', async () => {
  const { id } = (await fixture.call('POST', '/v4/segments', { body: { name: 'A list', user_ids: [user] } })).body
  await api.pool.query(
    `with others as (
       insert into users (environment, id, created_at, last_seen_at) select $1, 'listed_' || n, now(), now() from generate_series(1, 1_000) n returning id)
     insert into segment_members select $1, $2, id from others`,
    [fixture.environment, id],
  )
  const listed = await fixture.automation({ segments: id })
  await go()
  expect(await cost(() => fixture.read(), 'segment_members')).toBeLessThan(20)
  expect((await fixture.runs(listed.id)).filter(({ status }) => status !== 'skipped')).not.toEqual([])
})

test('an automation says that its many runs are still being cancelled', async () => {
  const isCancelling = async () => (await fixture.call('GET', automation.url)).body.activity.is_cancelling
  expect(await isCancelling()).toBe(false)
  await fixture.setStatus(automation.id, 'inactive')
  expect(await isCancelling()).toBe(true)
})

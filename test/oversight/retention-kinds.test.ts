import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { insertOrderingKeys } from '../../domain/integrations/deliveries/ordering-key.ts'
import { advanceClock } from '../../domain/oversight/reconciliation/advance-clock.ts'
import { dropExpired } from '../../domain/oversight/reconciliation/retention.ts'
import { transaction } from '../../store/transaction.ts'
import { startHousekeeping } from '../../workers/housekeeping.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { deliveryRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
afterEach(() => api.pool.query('delete from runs'))

const DAY = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
const sandbox = async () => (await api.newProject()).sandboxEnvironment
const count = async (table: string, environment: number) =>
  (await api.pool.query<{ n: number }>(`select count(*)::int as n from ${table} where environment = $1`, [environment])).rows[0]!.n

const oldRuns = (environment: number, count: number, days = 91) =>
  api.pool.query(
    `insert into runs (environment, workflow, version, subject, status, created_at, finished_at)
     select $1, 'export', 1, n::text, 'succeeded', t, t from generate_series(1, $2) n, (select now() - make_interval(days => $3) as t) a`,
    [environment, count, days],
  )
const oldScreen = (environment: number, id: string) =>
  api.pool.query(
    `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
     values ($1, $2, 'QON_x', 's', 'auto_a', $2, 's', now(), now() - interval '90 days 1 hour')`,
    [environment, id],
  )

test('a retention that fails stops no other', async () => {
  const environment = await sandbox()
  await api.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
    create trigger broken before delete on runs for each row execute function refuse()`)
  try {
    await oldRuns(environment, 1)
    await oldScreen(environment, 'scr_a')
    const failed: string[] = []
    const dropped = await dropExpired(api.pool, { onFailure: kind => failed.push(kind) })
    expect(failed).toEqual(['workflowRuns'])
    expect(dropped).toMatchObject({ workflowRuns: 0, pendingScreens: 1 })
    await expect(dropExpired(api.pool)).rejects.toThrow('broken')
  } finally {
    await api.pool.query('drop function refuse() cascade')
  }
})

test('the kinds take turns, so that none waits for the backlog of another', async () => {
  const environment = await sandbox()
  await oldRuns(environment, 50)
  await oldScreen(environment, 'scr_a')
  let batches = 0
  // Some fifteen kinds come before that of the screens; the runs alone need ten turns.
  const dropped = await dropExpired(api.pool, { batch: 5, beat: async () => batches++, isStopping: () => batches === 18 })
  expect(dropped.pendingScreens).toBe(1)
  expect(dropped.workflowRuns).toBeLessThan(50)
})

test('housekeeping never runs twice at once', async () => {
  const environment = await sandbox()
  await oldRuns(environment, 1)
  const blocker = await api.pool.connect()
  await blocker.query('begin')
  await blocker.query('lock table runs in access exclusive mode')
  const housekeeping = startHousekeeping({ pool: api.pool, log: pino({ level: 'silent' }), periodMs: 5 })
  const waiting = async () =>
    (await api.pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).rowCount ?? 0
  await until('the retention waits', async () => (await waiting()) > 0 || undefined)
  for (let look = 0; look < 30; look++) expect(await waiting()).toBe(1)
  await blocker.query('commit')
  blocker.release()
  await until('the run is gone', async () => ((await count('runs', environment)) === 0 ? true : undefined))
  await housekeeping.stop()
})

test('the retention of runs reads the expired runs of each environment and no others, without statistics too', async () => {
  const environments = [await sandbox(), await sandbox()]
  for (const environment of environments) {
    await oldRuns(environment, 5_000, 1)
    await oldRuns(environment, 3)
  }
  const before = await rowsRead([api.pool], ['runs'])
  expect((await dropExpired(api.pool)).workflowRuns).toBe(6)
  const after = await rowsRead([api.pool], ['runs'])
  expect(after.runs! - before.runs!).toBeLessThan(200)
})

const automationOf = async (environment: number, key: string) => {
  const steps = (value: string) => ({ steps: [{ id: 'set', type: 'set_property', key: 'tier', value }] })
  const data = (value: string) => ({ initiators: [{ uid: 'opened', type: 'event' }], actions: {}, ...steps(value) })
  const made = await api.call('POST', '/v4/automations', { key, body: { name: 'A', status: 'inactive', data: data('a') } })
  expect(made.status).toBe(201)
  const id: string = made.body.id
  return {
    id,
    change: (value: string) =>
      api.call('PUT', `/v4/automations/${id}`, { key, body: { name: 'A', status: 'inactive', data: data(value) } }),
    versions: async () =>
      (
        await api.pool.query<{ version: number }>(
          'select version from automation_versions where environment = $1 and automation_id = $2 order by version',
          [environment, id],
        )
      ).rows.map(({ version }) => version),
  }
}

test('a version of an automation goes 90 days after it was superseded, unless a run may be pinned to it', async () => {
  const { sandbox: key, sandboxEnvironment: environment } = await api.newProject()
  const advance = (days: number) =>
    api.pool.query('update environments set clock_offset = clock_offset + make_interval(days => $2) where id = $1', [environment, days])
  const automation = await automationOf(environment, key)
  const waiting = await runRow(api.pool, environment, { at: ago(0), status: 'waiting', automation: automation.id })
  await advance(1)
  expect((await automation.change('b')).status).toBe(200)
  await automation.change('c')
  expect(await automation.versions()).toEqual([1, 2, 3])
  await advance(89)
  await dropExpired(api.pool)
  expect(await automation.versions()).toEqual([1, 2, 3])
  await advance(30)
  await dropExpired(api.pool)
  // The run waits still.
  expect(await automation.versions()).toEqual([1, 2, 3])
  await api.pool.query(`update automation_runs set status = 'succeeded', finished_at = environment_now($2) where number = $1`, [
    waiting.number,
    environment,
  ])
  // A replay pins version 1 once more.
  const replayed = await api.call('POST', `/v4/automation-runs/${waiting.id}/replay`, { key, body: {} })
  expect(replayed.status).toBe(201)
  await api.pool.query(`delete from due where kind = 'automation-run'`)
  await advance(91)
  await dropExpired(api.pool)
  expect(await count('automation_runs', environment)).toBe(1)
  expect(await automation.versions()).toEqual([1, 3])
  await api.pool.query('delete from automation_runs where environment = $1', [environment])
  await dropExpired(api.pool)
  expect(await automation.versions()).toEqual([3])
  expect((await api.call('DELETE', `/v4/automations/${automation.id}`, { key })).status).toBe(204)
  await advance(91)
  await dropExpired(api.pool)
  expect(await automation.versions()).toEqual([])
})

test('an ordering key goes with its last delivery', async () => {
  const environment = await sandbox()
  const integration = await integrationRow(api.pool, environment)
  const key = (user: string) => ({ environment, integration, user })
  await transaction(api.pool, tx => insertOrderingKeys(tx, [key('QON_a'), key('QON_b'), key('QON_c')]))
  const old = { at: ago(31), status: 'delivered', integration }
  for (const user of ['QON_a', 'QON_b']) await deliveryRow(api.pool, environment, { ...old, user })
  await deliveryRow(api.pool, environment, { ...old, at: ago(1), user: 'QON_b' })
  // Another transaction has the key and is about to add a delivery.
  await deliveryRow(api.pool, environment, { ...old, user: 'QON_c' })
  const other = await api.pool.connect()
  await other.query('begin')
  await insertOrderingKeys(other, [key('QON_c')])
  expect((await dropExpired(api.pool)).deliveries).toBe(3)
  await other.query('commit')
  other.release()
  const { rows } = await api.pool.query('select user_id from ordering_keys where environment = $1 order by user_id', [environment])
  expect(rows.map(({ user_id }) => user_id)).toEqual(['QON_b', 'QON_c'])
})

test('an ordering key that retention deletes while another transaction wants it is inserted again', async () => {
  const environment = await sandbox()
  const integration = await integrationRow(api.pool, environment)
  const key = { environment, integration, user: 'QON_a' }
  await transaction(api.pool, tx => insertOrderingKeys(tx, [key]))
  const retention = await api.pool.connect()
  await retention.query('begin')
  await retention.query('delete from ordering_keys where environment = $1', [environment])
  const adding = transaction(api.pool, async tx => {
    await insertOrderingKeys(tx, [key])
    const { rowCount } = await api.pool.query('select 1 from ordering_keys where environment = $1 for update skip locked', [environment])
    return rowCount
  })
  await until('it waits', async () => {
    const { rowCount } = await retention.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return rowCount || undefined
  })
  await retention.query('commit')
  retention.release()
  // The transaction has inserted the key, which nobody else sees yet.
  expect(await adding).toBe(0)
  expect(await count('ordering_keys', environment)).toBe(1)
})

test('deleted reports and integrations go 30 days later, when nothing of theirs is left', async () => {
  const environment = await sandbox()
  const integrations = [await integrationRow(api.pool, environment), await integrationRow(api.pool, environment)]
  await api.pool.query(`update integrations set deleted_at = now() - interval '31 days' where environment = $1`, [environment])
  await integrationRow(api.pool, environment)
  const { number } = await deliveryRow(api.pool, environment, { at: ago(5), status: 'failed', integration: integrations[0]! })
  await api.pool.query(`insert into ordering_keys (environment, integration, user_id) values ($1, $2, 'QON_a')`, [
    environment,
    integrations[1],
  ])
  await api.pool.query(
    `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence, missed,
       on_dst_gap, on_dst_overlap, format, created_at, updated_at, deleted_at)
     select $1, 'rep_' || n, 'R', '09:00', 1, 'draft', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', now(), now(),
       case when n < 4 then now() - make_interval(days => 27 + n) end from generate_series(1, 4) n`,
    [environment],
  )
  await slotRow(api.pool, environment, { at: ago(40), status: 'empty', report: 'rep_3' })
  const reports = async () =>
    (await api.pool.query<{ id: string }>('select id from scheduled_reports where environment = $1 order by id', [environment])).rows.map(
      ({ id }) => id,
    )
  expect(await dropExpired(api.pool)).toMatchObject({ integrations: 2, reports: 0 })
  expect(await count('integrations', environment)).toBe(2)
  expect(await count('ordering_keys', environment)).toBe(0)
  expect(await reports()).toEqual(['rep_1', 'rep_2', 'rep_3', 'rep_4'])
  await api.pool.query('update environments set clock_offset = $2 where id = $1', [environment, '3 days'])
  await api.pool.query('delete from deliveries where number = $1', [number])
  expect(await dropExpired(api.pool)).toMatchObject({ integrations: 1, reports: 2 })
  expect(await reports()).toEqual(['rep_3', 'rep_4'])
  await api.pool.query('delete from report_runs where environment = $1', [environment])
  await dropExpired(api.pool)
  expect(await reports()).toEqual(['rep_4'])
})

test('an advance of the clock removes what is over in its environment at the target, and nothing elsewhere', async () => {
  const [environment, other] = [await sandbox(), await sandbox()]
  for (const each of [environment, other]) {
    await runRow(api.pool, each, { at: ago(1), status: 'succeeded' })
    await oldScreen(each, 'scr_a')
  }
  await api.pool.query(`update pending_screens set expires_at = now() - interval '1 hour' where environment = any ($1)`, [
    [environment, other],
  ])
  const to = new Date(Date.now() + 90 * DAY).toISOString()
  await advanceClock(environment, to, { pool: api.pool, beat: async () => {} })
  expect([await count('automation_runs', environment), await count('pending_screens', environment)]).toEqual([0, 0])
  expect([await count('automation_runs', other), await count('pending_screens', other)]).toEqual([1, 1])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandbox as command } from '../../cli/sandbox.ts'
import { mark, markGone, markStored, markUnlocked, markViewers } from '../../domain/durable/marks/mark.ts'
import { isResetting, resetMore } from '../../domain/oversight/sandbox/reset.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { call as cli } from '../cli/call.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { fillEnvironment } from '../harness/full-environment.ts'

// No worker: the test does the steps.
let api: TestApi
let key: string
let environment: number
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  key = api.project.sandbox
  environment = api.project.sandboxEnvironment
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET }
}, 60_000)
afterAll(() => api.stop())

const reset = (headers: Record<string, string> = {}) => api.call('POST', '/v4/test-clock/reset', { key, headers })
const clock = async () => (await api.call('GET', '/v4/test-clock', { key })).body
const finish = async () => {
  while (await isResetting(api.pool, environment)) await resetMore(api.pool, environment)
}
/** How many rows each table with an environment has of the sandbox. */
async function rowsLeft(): Promise<Record<string, number>> {
  const { rows } = await api.pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'environment'
       and table_name in (select tablename from pg_tables) order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of rows) {
    const { rows: found } = await api.pool.query(`select count(*)::int as n from ${name} where environment = $1`, [environment])
    if (found[0].n > 0) counts[name] = found[0].n
  }
  return counts
}

const CONFIGURATION = [
  [
    'analytics_annotations',
    'analytics_views',
    'audit_log',
    'automation_initiators',
    'automation_versions',
    'automations',
    'entitlement_products',
  ],
  ['entitlements', 'experiment_groups', 'experiments', 'fact_state', 'integrations', 'log_positions', 'offering_products', 'offerings'],
  ['products', 'pushes', 'remote_configurations', 'scheduled_reports', 'screens', 'segments'],
].flat()

test('meanwhile every other request of the sandbox is refused, and production is not', async () => {
  expect(await reset()).toMatchObject({ status: 202, body: { object: 'operation', url: '/v4/test-clock', message: 'Reset queued' } })
  expect(await clock()).toMatchObject({ resetting: true, offset_seconds: 0 })
  expect((await reset()).status).toBe(202)
  for (const [method, path, body] of [
    ['GET', '/v4/events'],
    ['POST', '/v4/users', { environment: 'sandbox' }],
    ['POST', '/v4/test-clock/advance', { by: 'P1D' }],
  ] as const) {
    const answer = await api.call(method, path, { key, body })
    expect([answer.status, answer.body.error.code, answer.headers.get('retry-after')]).toEqual([409, 'conflict', '1'])
  }
  const app = await api.call('GET', '/v3/users/none/entitlements', { key: `test_${api.project.projectKey}` })
  expect([app.status, app.headers.get('retry-after')]).toEqual([429, '1'])
  expect((await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).status).toBe(201)
  await finish()
  expect(await clock()).toMatchObject({ resetting: false })
  expect((await api.call('GET', '/v4/events', { key })).status).toBe(200)
})

test('a request that was accepted before the reset began, and writes after, is refused', async () => {
  const blocker = await api.pool.connect()
  try {
    await blocker.query('begin')
    // As a reset does that is about to commit.
    await blocker.query('select 1 from environments where id = $1 for update', [environment])
    const creating = api.call('POST', '/v4/users', { key, body: { environment: 'sandbox' } })
    await expect
      .poll(
        async () =>
          (await api.pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%reset_at%'`)).rowCount,
      )
      .toBe(1)
    await blocker.query('update environments set reset_at = clock_timestamp() where id = $1', [environment])
    await blocker.query('commit')
    expect((await creating).body.error.code).toBe('conflict')
  } finally {
    blocker.release()
    await api.pool.query('update environments set reset_at = null where id = $1', [environment])
  }
})

test('a reset waits for a transaction that marks a user, also where the mark is there already', async () => {
  const { body: user } = await api.call('POST', '/v4/users', { key, body: { environment: 'sandbox' } })
  const marks = {
    mark: tx => mark(tx, environment, [user.id]),
    markStored: tx => markStored(tx, environment, [user.id]),
    markUnlocked: tx => markUnlocked(tx, environment, [user.id]),
    markGone: tx => markGone(tx, environment, [1]),
    markViewers: tx => markViewers(tx, environment, [{ user: user.id, at: 0 }]),
  } satisfies Record<string, (tx: Tx) => Promise<void>>
  const take = () => api.pool.query('select 1 from environments where id = $1 for update nowait', [environment])
  for (const [name, work] of Object.entries(marks))
    for (const time of ['first', 'second'])
      await transaction(api.pool, async tx => {
        await work(tx)
        await expect(take(), `${name}, ${time} time`).rejects.toThrow('could not obtain lock')
      })
  await take()
})

test('a repeat with the same Idempotency-Key does not empty the sandbox again', async () => {
  expect((await reset({ 'Idempotency-Key': 'anew' })).status).toBe(202)
  await finish()
  expect((await reset({ 'Idempotency-Key': 'anew' })).headers.get('idempotency-replayed')).toBe('true')
  expect(await clock()).toMatchObject({ resetting: false })
})

/** More than a statement of the reset removes of any table. */
const MANY = 6_000

test('a reset that two processes work on, and that is cut off in between, leaves the configuration and nothing else', async () => {
  await fillEnvironment(api.pool, environment, MANY)
  await api.pool.query(
    `update integrations set active = 2, failures_in_row = 10, is_probed = true, held_since = now() + interval '9 days' where environment = $1 and id = 'int_1'`,
    [environment],
  )
  await api.pool.query(`update environments set clock_offset = '27 days' where id = $1`, [environment])
  await api.pool.query(`update log_positions set last_received_at = now() + interval '27 days' where environment = $1`, [environment])
  await api.pool.query(`update remote_configurations set activated_at = now() + interval '27 days' where environment = $1`, [environment])
  const production = () => api.pool.query('select count(*)::int as users from users where environment = $1', [api.project.production])
  const before = (await production()).rows
  expect((await reset()).status).toBe(202)
  const cutOff = await api.pool.connect()
  await cutOff.query('begin')
  await cutOff.query(`delete from events where environment = $1 and log_offset < 100`, [environment])
  cutOff.release(true)
  while (await isResetting(api.pool, environment)) await Promise.all([resetMore(api.pool, environment), resetMore(api.pool, environment)])
  const left = await rowsLeft()
  // The runs that remove the files of exports, and the answer that a repeat of the reset gets.
  const { due, runs, idempotent_answers: answers, ...others } = left
  expect([due, runs, answers]).toEqual([2_000, 2_000, 1])
  expect(Object.keys(others).filter(name => !CONFIGURATION.includes(name))).toEqual([])
  expect((await api.pool.query(`select 1 from due where environment = $1 and kind <> 'export-retention'`, [environment])).rowCount).toBe(0)
  expect((await production()).rows).toEqual(before)
  const ahead = await api.pool.query(
    `select 1 from log_positions where environment = $1 and last_received_at > clock_timestamp()
     union all select 1 from remote_configurations where environment = $1 and activated_at > clock_timestamp()
     union all select 1 from integrations where environment = $1 and (active = 2 or held_since > clock_timestamp())`,
    [environment],
  )
  expect(ahead.rowCount).toBe(0)
}, 120_000)

test('the command does all of it, without a service', async () => {
  await api.call('POST', '/v4/users', { key, body: { environment: 'sandbox' } })
  await api.pool.query(`update environments set clock_offset = '1 day' where id = $1`, [environment])
  expect(await cli(command, ['reset', String(api.project.id)], env)).toMatchObject({ code: 0, out: expect.stringContaining('is empty') })
  expect((await api.call('GET', '/v4/customers', { key })).body.data).toEqual([])
  expect(await clock()).toMatchObject({ offset_seconds: 0, resetting: false })
  const { data } = (await api.call('GET', '/v4/audit-log?filter[resource][]=test_clock', { key })).body
  expect(data[0]).toMatchObject({ operation: 'sandbox reset' })
  expect(await cli(command, ['reset', '999999'], env)).toMatchObject({ code: 1, notes: 'project 999999 not found' })
})

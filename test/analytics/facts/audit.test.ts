import { type LogFn, pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { auditFacts } from '../../../domain/analytics/folding/audit.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { FOLD_VERSION } from '../../../domain/durable/marks/mark.ts'
import { connect } from '../../../store/connect.ts'
import { startFactAudit } from '../../../workers/fact-audit.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { rowsRead } from '../../harness/rows-read.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let environment: number
let user: string
let no: number
/** Of a user who does not exist any more. */
let gone: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  user = await userOf(api)
  await purchaseOf(api, user, {
    ...{ purchased_at: '2026-03-01T00:00:00Z', expires_at: '2026-03-31T00:00:00Z', price: '10', currency: 'EUR' },
    app_store_data: { transaction_id: 't', original_transaction_id: 'o', product_id: 'm' },
  })
  const leaver = await userOf(api)
  await userOf(api, api.project.sandbox)
  no = (await api.pool.query('select no from users where id = $1', [user])).rows[0].no
  gone = (await api.pool.query('delete from users where id = $1 returning no', [leaver])).rows[0].no
})
afterAll(() => api.stop())
beforeEach(async () => {
  await api.pool.query(
    'truncate fact_audit, set_aside_users; insert into stale_users select environment, no from users on conflict do nothing',
  )
  await fold()
})

const fold = async () => {
  for (const one of [environment, api.project.sandboxEnvironment]) await drainMarks(api.pool, one, 10_000)
}
const look = async () => {
  await api.pool.query(`update fact_audit set looked_at = looked_at - interval '61 seconds'`)
  const found = await auditFacts({ pool: api.pool, isStopping: () => false })
  return [found?.compared, found?.drifted.map(one => one.no)]
}
const falsify = () => api.pool.query('update transaction_facts set amount = amount + 1 where user_no = $1', [no])
const marks = async () => (await api.pool.query('select user_no from stale_users order by user_no')).rows.map(row => row.user_no)
const ready = async () => (await api.call('GET', '/readyz')).body

test('facts as a fold writes them do not differ, in no environment', async () => {
  expect([await look(), await marks()]).toEqual([[2, []], []])
})

test.each([
  ['a changed value', 'update transaction_facts set amount = amount + 1 where user_no = $1'],
  ['a lost transaction', 'delete from transaction_facts where user_no = $1'],
  ['a lost change', 'delete from subscription_changes where user_no = $1'],
  ['a lost user', 'delete from user_facts where user_no = $1'],
  [
    'a doubled transaction',
    `insert into transaction_facts (environment, generation, seq, user_no, kind, happened)
     select environment, generation, seq, user_no, kind, happened from transaction_facts where user_no = $1`,
  ],
])('%s is found, marked and counted, and the fold of the mark repairs it', async (_, change) => {
  await api.pool.query(change, [no])
  expect([await look(), await marks()]).toEqual([[2, [no]], [no]])
  expect(await ready()).toMatchObject({ status: 'degraded', fact_drift: 1 })
  await fold()
  expect(await look()).toEqual([2, []])
  expect(await ready()).toMatchObject({ status: 'ok', fact_drift: 0 })
  expect((await api.pool.query('select drifted_total, compared_total from fact_audit')).rows).toEqual([
    { drifted_total: 1, compared_total: 4 },
  ])
})

const usersIn = async (table: string, alive: string, of = environment) =>
  (await api.pool.query(`select user_no from ${table} where environment = $1 and ${alive} order by 1`, [of])).rows.map(row => row.user_no)

test.each([
  ['user_facts', 'not gone', 'created'],
  ['transaction_facts', 'kind is not null', 'kind'],
  ['subscription_changes', 'cause is not null', 'cause'],
])('facts in %s of a user who is gone are found, marked and counted, and the fold of the mark removes them', async (table, alive, column) => {
  const kept = await usersIn(table, alive)
  await api.pool.query(
    `insert into ${table} (environment, generation, seq, user_no, ${column}) select environment, generation, seq, $2, 1 from fact_state
     where environment = $1`,
    [environment, gone],
  )
  expect([await look(), await marks()]).toEqual([[3, [gone]], [gone]])
  expect(await ready()).toMatchObject({ status: 'degraded', fact_drift: 1 })
  expect(await look()).toEqual([2, []])
  await fold()
  expect([await marks(), await usersIn(table, alive)]).toEqual([[], kept])
  expect([await look(), (await ready()).fact_drift]).toEqual([[2, []], 0])
})

test('facts in another environment than that of the user are left over, too', async () => {
  const sandbox = api.project.sandboxEnvironment
  const kept = await usersIn('user_facts', 'not gone', sandbox)
  await api.pool.query(
    `insert into user_facts (environment, generation, seq, user_no) select environment, generation, seq, $2 from fact_state where environment = $1`,
    [sandbox, no],
  )
  expect([await look(), await marks()]).toEqual([[3, [no]], [no]])
  await fold()
  expect([await look(), await usersIn('user_facts', 'not gone', sandbox)]).toEqual([[2, []], kept])
  expect(await usersIn('user_facts', 'not gone')).toEqual([no])
})

test('a user who is marked or set aside is not compared, nor facts of other rules; a look at nobody is no clean look', async () => {
  await falsify()
  expect(await look()).toEqual([2, [no]])
  expect([await look(), await marks()]).toEqual([[1, []], [no]])
  await api.pool.query(
    'truncate stale_users; insert into set_aside_users (environment, user_no, error) select environment, no, $$x$$ from users',
  )
  await api.pool.query('update fact_audit set drifted = 7')
  expect(await look()).toEqual([0, []])
  await api.pool.query('truncate set_aside_users')
  await api.pool.query('update fact_state set fold_version = $1', [FOLD_VERSION + 1])
  expect(await look()).toEqual([0, []])
  await api.pool.query('update fact_state set fold_version = $1', [FOLD_VERSION])
  expect((await ready()).fact_drift).toBe(7)
  expect(await look()).toEqual([2, [no]])
})

test('a user who cannot be folded and is not set aside is marked', async () => {
  const setAmount = (amount: string) => api.pool.query('update purchases set amount = $2 where user_id = $1', [user, amount])
  await setAmount('99999999999999')
  expect([await look(), await marks()]).toEqual([[2, [no]], [no]])
  await setAmount('10')
})

test('a change that is under way is not seen, and its user is not waited for', async () => {
  const changing = await api.pool.connect()
  await changing.query('begin')
  await changing.query('select 1 from users where no = $1 for update', [no])
  await changing.query('update purchases set amount = 20 where user_id = $1', [user])
  await changing.query('insert into stale_users (environment, user_no) values ($1, $2)', [environment, no])
  expect(await look()).toEqual([2, []])
  await changing.query('rollback')
  changing.release()
})

test('of all workers one has the look of a minute, also after the clock was set back', async () => {
  const all = async () =>
    (await Promise.all(Array.from({ length: 4 }, () => auditFacts({ pool: api.pool, isStopping: () => false })))).filter(
      one => one !== null,
    )
  expect(await all()).toHaveLength(1)
  expect(await all()).toHaveLength(0)
  await api.pool.query(`update fact_audit set looked_at = now() + interval '1 hour'`)
  expect(await all()).toHaveLength(1)
})

test('the worker logs a difference without the id of the customer', async () => {
  await falsify()
  const written: string[] = []
  const hooks = {
    logMethod(args: Parameters<LogFn>, _method: LogFn, level: number) {
      written.push(`${pino.levels.labels[level]} ${JSON.stringify(args)}`)
    },
  }
  const auditing = startFactAudit({ pool: api.pool, log: pino({ hooks }), periodMs: 10 })
  const line = await until('a line', () => written[0])
  await auditing.stop()
  expect(line).toContain(`"users":[{"environment":${environment},"user":${no}}]`)
  expect(line).toMatch(/^error /)
  expect(written.join()).not.toContain(user)
})

test('a look among many users reads no more of them than it draws', async () => {
  await api.pool.query(
    `insert into users (environment, id, created_at, last_seen_at) select $1, 'many_' || n, now(), now() from generate_series(1, 20000) n`,
    [environment],
  )
  for (const [table, column] of [
    ['user_facts', 'created'],
    ['transaction_facts', 'kind'],
    ['subscription_changes', 'cause'],
  ])
    await api.pool.query(`insert into ${table} (environment, generation, seq, user_no, ${column})
      select environment, 1, 0, no, 1 from users where id like 'many_%'`)
  await api.pool.query('analyze users, user_facts, transaction_facts, subscription_changes')
  const auditing = connect({ url: api.databaseUrl, max: 1 })
  const tables = ['users', 'user_facts', 'transaction_facts', 'subscription_changes', 'events', 'purchases']
  const before = await rowsRead([api.pool, auditing], tables)
  // These users were inserted without marks, and their facts are wrong.
  const found = await auditFacts({ pool: auditing, isStopping: () => false })
  expect(found!.drifted.length).toBeGreaterThan(150)
  const after = await rowsRead([api.pool, auditing], tables)
  await auditing.end()
  const read = (table: string) => after[table]! - before[table]!
  // Drawn, read, locked and marked; drawn again, with a look for the user of a row of each table of facts.
  expect(read('users')).toBeLessThan(1_800)
  for (const table of tables.slice(1)) expect([table, read(table)]).toEqual([table, expect.toSatisfy(rows => rows < 600)])
})

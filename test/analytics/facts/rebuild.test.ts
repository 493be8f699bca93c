import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { analytics } from '../../../cli/analytics.ts'
import { dropOldGenerations } from '../../../domain/analytics/facts/retention.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { rebuildFacts } from '../../../domain/analytics/folding/rebuild.ts'
import { eraseCustomer } from '../../../domain/oversight/erasure/erase-customer.ts'
import { secretsFrom } from '../../../domain/projects/secrets.ts'
import { transaction } from '../../../store/transaction.ts'
import { startFactRebuild } from '../../../workers/fact-rebuild.ts'
import { call } from '../../cli/call.ts'
import { APP_SECRET, startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let project: TestProjectKeys
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  project = await api.newProject()
})

let sold = 0
async function sell(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const n = sold++
    return {
      ...{ event_id: `s${n}`, event_name: 'subscription_started', identity_id: `user-${n}`, platform: 'iOS', product_id: 'm', price: '5' },
      ...{ currency: 'USD', happened_at: '2026-03-01T12:00:00Z' },
      transaction: { transaction_id: `s${n}`, original_transaction_id: `s${n}`, expires_at: '2026-04-01T12:00:00Z' },
    }
  })
  expect((await api.call('POST', '/v4/events', { key: project.secret, body: { events } })).body).toMatchObject({ created: count })
}
const fold = () => drainMarks(api.pool, project.production, 10_000)
const rebuild = (steps = Number.POSITIVE_INFINITY) => {
  let left = steps
  return rebuildFacts(api.pool, project.production, { isStopping: () => left-- <= 0, atOnce: 3 })
}
const stateOf = async () =>
  (
    await api.pool.query('select generation, building, folded_to, fold_version from fact_state where environment = $1', [
      project.production,
    ])
  ).rows[0]
const countOf = async (table: string) =>
  (await api.pool.query<{ n: number }>(`select count(*)::int as n from ${table} where environment = $1`, [project.production])).rows[0]!.n

test('rebuilt facts are equal to those that were kept, and the former ones go', async () => {
  await sell(8)
  await fold()
  const { generation } = await stateOf()
  expect(await rebuild()).toEqual({ is: 'done', users: 8, differences: [] })
  expect(await stateOf()).toMatchObject({ generation: generation + 1, building: null, folded_to: null })
  expect(await countOf('transaction_facts')).toBe(16)
  while ((await dropOldGenerations(api.pool, 5)) > 0);
  expect([await countOf('transaction_facts'), await countOf('user_facts'), await countOf('subscription_changes')]).toEqual([8, 8, 16])
})

test('facts that drifted, that are missing, and of users who are gone are reported and repaired', async () => {
  await sell(5)
  await fold()
  const of = [project.production]
  await api.pool.query(
    `update transaction_facts set amount = 1 where environment = $1 and id = (select min(id) from transaction_facts where environment = $1)`,
    of,
  )
  await api.pool.query(
    `delete from user_facts where environment = $1 and user_no = (select max(user_no) from user_facts where environment = $1)`,
    of,
  )
  await api.pool.query(
    `insert into user_facts select environment, generation, -7, seq, gone, created from user_facts where environment = $1 order by user_no limit 1`,
    of,
  )
  const rebuilt = await rebuild()
  expect(rebuilt).toMatchObject({
    is: 'done',
    differences: [
      { table: 'user_facts', former: 1, rebuilt: 1 },
      { table: 'transaction_facts', former: 1, rebuilt: 1 },
    ],
  })
  expect(await rebuild()).toMatchObject({ differences: [] })
})

test('what happens between the steps of a rebuild is in both generations', async () => {
  await sell(10)
  await fold()
  const names = async () =>
    (await api.pool.query<{ id: string }>('select id from users where environment = $1 order by no', [project.production])).rows
  for (let step = 0; step < 4; step++) {
    expect((await rebuild(1)).is).toBe('stopped')
    // Users before and behind the place that the rebuild has reached.
    await sell(2)
    const users = await names()
    const gone = users[(step * 5) % users.length]!.id
    await transaction(api.pool, tx => eraseCustomer(tx, project.production, gone, secretsFrom(APP_SECRET)))
    await api.pool.query('update events set price = 7 where environment = $1 and user_id = $2', [project.production, users[1]!.id])
    await api.pool.query(
      'insert into stale_users (environment, user_no) select environment, no from users where id = $1 on conflict do nothing',
      [users[1]!.id],
    )
    await fold()
  }
  expect(await rebuild()).toMatchObject({ is: 'done', differences: [] })
  expect(await rebuild()).toMatchObject({ is: 'done', differences: [], users: (await names()).length })
})

test('workers rebuild what was folded by the rules of an earlier version', async () => {
  await sell(4)
  await fold()
  const { generation, fold_version } = await stateOf()
  await api.pool.query('update fact_state set fold_version = fold_version - 1 where environment = $1', [project.production])
  const rebuilding = startFactRebuild({ pool: api.pool, log: pino({ level: 'silent' }), periodMs: 10 })
  await until('the facts are rebuilt', async () => (await stateOf()).fold_version === fold_version || undefined)
  await rebuilding.stop()
  expect((await stateOf()).generation).toBe(generation + 1)
})

test('cli analytics rebuild tells what it did, and whether the facts differed', async () => {
  const env = { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ops' }
  await sell(3)
  await fold()
  const equal = await call(analytics, ['rebuild', String(project.id)], env)
  expect([equal.code, equal.out]).toEqual([0, expect.stringContaining('the facts of 3 customers are rebuilt, and equal to those before.')])
  await api.pool.query('update transaction_facts set amount = 1 where environment = $1', [project.production])
  const different = await call(analytics, ['rebuild', String(project.id)], env)
  expect([different.code, different.out]).toEqual([2, expect.stringContaining('transaction_facts: 3 rows differed from 3 rebuilt ones')])
  for (const [args, message] of [
    [[], 'which command? analytics rebuild'],
    [['sort'], 'there is no command "analytics sort"'],
    [['rebuild', 'x'], '"x" is not a project id'],
    [['rebuild', '1', '2'], 'too many arguments: 2'],
    [['rebuild', '999999'], 'there is no project 999999'],
  ] as const)
    expect(await call(analytics, [...args], env)).toMatchObject({ code: 1, notes: expect.stringContaining(message) })
})

test('a user who cannot be folded keeps the former facts and is set aside; the others are rebuilt', async () => {
  await sell(5)
  await fold()
  const { generation } = await stateOf()
  const { rows } = await api.pool.query<{ user_id: string; no: number }>(
    `update events e set price = 99999999999999 from users u where e.environment = $1 and u.environment = $1 and u.id = e.user_id
       and u.no = (select min(no) from users where environment = $1) returning e.user_id, u.no`,
    [project.production],
  )
  expect(await rebuild()).toEqual({ is: 'done', users: 5, differences: [] })
  expect(await stateOf()).toMatchObject({ generation: generation + 1, building: null })
  const aside = await api.pool.query('select user_no from set_aside_users where environment = $1', [project.production])
  expect(aside.rows).toEqual([{ user_no: rows[0]!.no }])
})

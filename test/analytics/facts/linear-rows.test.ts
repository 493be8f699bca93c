import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { userOf } from '../../harness/purchases.ts'
import { rowsRead } from '../../harness/rows-read.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())

const FACTS = ['user_facts', 'transaction_facts', 'subscription_changes']
const READ = [...FACTS, 'purchases', 'events', 'subscriptions']

const mark = (user: string) =>
  api.pool.query(
    `insert into stale_users (environment, user_no, sums) select environment, no, true from users where environment = $1 and id = $2
     on conflict (environment, user_no) do update set sums = true`,
    [environment, user],
  )

/** A user whose renewals a store has reported, from the `from`-th on. */
async function record(user: string, from: number, renewals: number): Promise<void> {
  await api.pool.query(
    `with l as (
       insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', $2, $2)
       on conflict (environment, platform, md5(lineage)) do update set user_id = excluded.user_id returning id)
     insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
       purchased_at, expires_at, auto_renewing, created_at)
     select $1, l.id, $2, 'app_store', 'hourly', $2 || n, true, 'USD', '5', 5, t, t + interval '1 hour', true, t
     from l, generate_series($3::int, $3::int + $4::int - 1) n, lateral (select timestamptz '2026-01-01' + n * interval '1 hour' as t) s`,
    [environment, user, from, renewals],
  )
  await mark(user)
}

/** Rows that a fold reads, and rows of facts that it writes. */
async function foldCost(): Promise<{ read: number; written: number }> {
  const written = async () =>
    (
      await api.pool.query<{ n: number }>(
        'select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as n from pg_stat_user_tables where relname = any ($1)',
        [FACTS],
      )
    ).rows[0]!.n
  const sum = (rows: Record<string, number>) => Object.values(rows).reduce((a, b) => a + b, 0)
  const before = { read: sum(await rowsRead([api.pool], READ)), written: await written() }
  expect(await drainMarks(api.pool, environment, 10)).toBe(true)
  const after = sum(await rowsRead([api.pool], READ))
  return { read: after - before.read, written: (await written()) - before.written }
}

/** What the first fold costs, and one after a further renewal. */
async function costsOf(renewals: number) {
  const user = await userOf(api)
  await record(user, 0, renewals)
  const first = await foldCost()
  await record(user, renewals, 1)
  return { first, further: await foldCost() }
}

test('twice as many renewals read and write twice as many rows; a further renewal writes as many after 800 as after 400', async () => {
  const [some, twice] = [await costsOf(400), await costsOf(800)]
  expect(some.first.written).toBeGreaterThan(2 * 400)
  expect(twice.first.written / some.first.written).toBeLessThan(2.1)
  expect(twice.first.read / some.first.read).toBeLessThan(2.2)
  expect(twice.further.read / some.further.read).toBeLessThan(2.2)
  expect(twice.further.written).toBe(some.further.written)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { foldUsers } from '../../../domain/analytics/facts/fold-users.ts'
import { readHistories } from '../../../domain/analytics/facts/read-histories.ts'
import { dropTombstones } from '../../../domain/analytics/facts/retention.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { foldBatch } from '../../../domain/analytics/folding/fold-batch.ts'
import { eraseCustomer } from '../../../domain/oversight/erasure/erase-customer.ts'
import { secretsFrom } from '../../../domain/projects/secrets.ts'
import { transaction } from '../../../store/transaction.ts'
import { APP_SECRET, startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  await product(api, { id: 'monthly', apple_product_id: 'm' })
})
afterAll(() => api.stop())

const DAY = 86_400
const START = Math.floor(Date.parse('2026-03-01T00:00:00Z') / 1000)
const iso = (days: number) => new Date((START + days * DAY) * 1000).toISOString()
const apple = (transaction_id: string, original_transaction_id: string) => ({
  app_store_data: { transaction_id, original_transaction_id, product_id: 'm' },
})
const period = (from: number, to: number, price: string) => ({ purchased_at: iso(from), expires_at: iso(to), price, currency: 'EUR' })

type Row = Record<string, unknown>
const fold = () => drainMarks(api.pool, environment, 10_000)
const numberOf = async (user: string) => (await api.pool.query('select no from users where id = $1', [user])).rows[0].no as number
const rowsOf = async (table: string, no: number, order: string): Promise<Row[]> =>
  (await api.pool.query(`select * from ${table} where environment = $1 and user_no = $2 order by ${order}`, [environment, no])).rows
const transactionsOf = async (no: number) =>
  (await rowsOf('transaction_facts', no, 'happened, kind')).map(({ kind, happened, amount, renewal, converted_at, refunded }) => [
    kind,
    ((happened as number) - START) / DAY,
    amount,
    renewal,
    converted_at === null ? null : ((converted_at as number) - START) / DAY,
    refunded,
  ])
const changesOf = async (no: number) =>
  (await rowsOf('subscription_changes', no, 'happened')).map(
    ({ cause, happened, b_state, a_state, b_amount, a_amount, paid_ended, counts_from }) => [
      cause,
      ((happened as number) - START) / DAY,
      b_state,
      a_state,
      b_amount,
      a_amount,
      paid_ended,
      counts_from === null ? null : ((counts_from as number) - START) / DAY,
    ],
  )

test('a trial, its conversion, a renewal and a refund become facts, with both sides of every change', async () => {
  const user = await userOf(api)
  await purchaseOf(api, user, { ...period(0, 7, '0'), ...apple('t', 'o') })
  await purchaseOf(api, user, { ...period(7, 37, '10'), ...apple('c', 'o') })
  const renewal = await purchaseOf(api, user, { ...period(37, 68, '10'), ...apple('r', 'o') })
  expect(await fold()).toBe(true)
  const no = await numberOf(user)
  expect(await transactionsOf(no)).toEqual([
    [1, 0, 0, null, 7, null],
    [3, 7, 10_000_000, 1, null, null],
    [4, 37, 10_000_000, 2, null, null],
  ])
  expect(await changesOf(no)).toEqual([
    [1, 0, 0, 1, null, null, 0, null],
    [2, 7, 1, 2, null, 10_000_000, 0, null],
    [2, 37, 2, 2, 10_000_000, 10_000_000, 0, null],
    [6, 68, 2, 5, 10_000_000, null, 1, 69],
  ])
  await api.call('PATCH', renewal.body.url, { body: { refunded_at: iso(40), refunded_amount: '4' } })
  await fold()
  expect((await transactionsOf(no)).slice(2)).toEqual([
    [4, 37, 10_000_000, 2, null, 4_000_000],
    [6, 40, 4_000_000, null, null, null],
  ])
})

test('each refund of a recorded purchase keeps its own time; what is taken back is taken from the latest', async () => {
  const user = await userOf(api)
  const { body } = await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple('parts', 'parts') })
  const no = await numberOf(user)
  const refunds = async (change: object) => {
    expect((await api.call('PATCH', body.url, { body: change })).status).toBe(200)
    await fold()
    return (await transactionsOf(no)).slice(1).map(([, day, amount]) => [day, amount])
  }
  expect(await refunds({ refunded_at: iso(3), refunded_amount: '2' })).toEqual([[3, 2_000_000]])
  const three = [
    [3, 2_000_000],
    [5, 3_000_000],
    [9, 5_000_000],
  ]
  expect(await refunds({ refunded_at: iso(5), refunded_amount: '5' })).toEqual(three.slice(0, 2))
  expect(await refunds({ refunded_at: iso(9), refunded_amount: '10' })).toEqual(three)
  expect(await refunds({ refunded_at: iso(8) })).toEqual([...three.slice(0, 2), [8, 5_000_000]])
  expect(await refunds({ refunded_at: iso(5), refunded_amount: '5.00' })).toEqual(three.slice(0, 2))
  // A worker of the previous version writes the sum and its time only.
  await api.pool.query(`update purchases set refunds = '[]' where user_id = $1`, [user])
  expect(await refunds({ refunded_at: iso(6), refunded_amount: '6' })).toEqual([
    [5, 5_000_000],
    [6, 1_000_000],
  ])
  expect(await refunds({ refunded_at: null })).toEqual([])
})

test('what is equal is not written again, and a changed row leaves a tombstone', async () => {
  const user = await userOf(api)
  const made = await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple('once', 'once') })
  await fold()
  const no = await numberOf(user)
  const state = async () => (await api.pool.query('select seq from fact_state where environment = $1', [environment])).rows[0].seq
  const before = await state()
  const again = () => transaction(api.pool, async tx => foldUsers(tx, environment, [no], await readHistories(tx, environment, [no])))
  await again()
  expect(await state()).toBe(before)
  const [{ id }] = (await rowsOf('transaction_facts', no, 'id')) as [Row]
  await api.call('PATCH', made.body.url, { body: { refunded_at: iso(3) } })
  await fold()
  expect((await api.pool.query('select user_no, kind, seq from transaction_facts where id = $1', [id])).rows).toEqual([
    { user_no: null, kind: null, seq: await state() },
  ])
})

test('a user who cannot be folded is set aside with the reason, the others are folded, and a later fold takes the user back', async () => {
  const [broken, other] = [await userOf(api), await userOf(api)]
  for (const user of [broken, other]) await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple(user, user) })
  const no = await numberOf(broken)
  const setAmount = (amount: string) => api.pool.query('update purchases set amount = $2 where user_id = $1', [broken, amount])
  await setAmount('99999999999999')
  const { failed } = await foldBatch(api.pool, environment)
  expect(failed).toEqual([{ no, error: '99999999999999 is larger than a fact can hold' }])
  expect(await transactionsOf(await numberOf(other))).toHaveLength(1)
  const aside = async () => (await api.pool.query('select user_no from set_aside_users')).rows.map(({ user_no }) => user_no)
  expect(await aside()).toEqual([no])
  await setAmount('10')
  await api.pool.query('insert into stale_users (environment, user_no) values ($1, $2)', [environment, no])
  await fold()
  expect([await aside(), (await transactionsOf(no)).length]).toEqual([[], 1])
})

test('after an erasure no fact and no mark names the user', async () => {
  const user = await userOf(api)
  await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple('gone', 'gone') })
  await fold()
  const no = await numberOf(user)
  await transaction(api.pool, tx => eraseCustomer(tx, environment, user, secretsFrom(APP_SECRET)))
  for (const table of ['transaction_facts', 'subscription_changes', 'stale_users'])
    expect((await api.pool.query(`select 1 from ${table} where user_no = $1`, [no])).rowCount).toBe(0)
  expect((await api.pool.query('select gone, created from user_facts where user_no = $1', [no])).rows).toEqual([
    { gone: true, created: null },
  ])
})

test('tombstones go when they are seven days old, and readers see it', async () => {
  const user = await userOf(api)
  const made = await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple('old', 'old') })
  await fold()
  await api.call('PATCH', made.body.url, { body: { refunded_at: iso(3) } })
  await fold()
  const state = async () => (await api.pool.query('select seq, pruned_seq from fact_state where environment = $1', [environment])).rows[0]
  const tombstones = async () =>
    (await api.pool.query('select 1 from transaction_facts where environment = $1 and kind is null', [environment])).rowCount
  const days = (n: number) => api.pool.query('update fact_days set day = day - $1::int', [n])
  await dropTombstones(api.pool, 1_000)
  await days(6)
  const kept = await tombstones()
  expect(kept).toBeGreaterThan(0)
  expect([await dropTombstones(api.pool, 1_000), await tombstones()]).toEqual([0, kept])
  await days(1)
  await dropTombstones(api.pool, 1_000)
  expect(await tombstones()).toBe(0)
  const { seq, pruned_seq } = await state()
  expect(pruned_seq).toBe(seq)
})

test('a mark beside a fold that has begun is not lost', async () => {
  const user = await userOf(api)
  const made = await purchaseOf(api, user, { ...period(0, 30, '10'), ...apple('beside', 'beside') })
  await fold()
  const no = await numberOf(user)
  await api.pool.query('insert into stale_users (environment, user_no) values ($1, $2)', [environment, no])
  const folding = await api.pool.connect()
  await folding.query('begin')
  await folding.query('select 1 from users where no = $1 for no key update', [no])
  const patched = api.call('PATCH', made.body.url, { body: { refunded_at: iso(3) } })
  await folding.query('delete from stale_users where user_no = $1', [no])
  await foldUsers(folding, environment, [no], await readHistories(folding, environment, [no]))
  await folding.query('commit')
  folding.release()
  expect((await patched).status).toBe(200)
  await fold()
  expect((await transactionsOf(no)).map(([kind]) => kind)).toEqual([2, 6])
})

test('a start without a price is a payment of unknown amount: its user counts once as a payer, however many renewals follow', async () => {
  const at = (days: number) => iso(days - 400)
  const event = (event_id: string, event_name: string, days: number, more: object = {}) => ({
    ...{ event_id, event_name, identity_id: 'payer', platform: 'iOS', happened_at: at(days) },
    ...{ transaction: { transaction_id: event_id, original_transaction_id: 'posted', expires_at: at(days + 30) } },
    ...more,
  })
  const priced = { price: '12', currency: 'USD' }
  const events = [event('p1', 'subscription_started', 0, priced), ...[1, 2, 3].map(n => event(`p${n + 1}`, 'subscription_renewed', 30 * n))]
  await api.call('POST', '/v4/events', { body: { events } })
  const window = `from=${START - 401 * DAY}&to=${START - 270 * DAY}`
  const chart = async (code: string) => (await api.call('GET', `/v4/analytics/charts/${code}?${window}`)).body.series[0].total
  expect([await chart('arppu'), await chart('new-subscriptions'), await chart('user-to-paid')]).toEqual([12, 1, 0])
})

test('a posted refund that names no transaction is money of the period that it ends', async () => {
  const at = (days: number) => iso(days - 800)
  const named = { transaction: { transaction_id: 'u1', original_transaction_id: 'unnamed', expires_at: at(30) } }
  const base = { identity_id: 'unnamed', platform: 'iOS' }
  const start = { ...base, ...named, event_id: 'u1', event_name: 'subscription_started', happened_at: at(0), price: '20', currency: 'USD' }
  const lineage = { original_transaction_id: 'unnamed' }
  const refund = { ...base, event_id: 'u2', event_name: 'subscription_refunded', happened_at: at(10), transaction: lineage }
  await api.call('POST', '/v4/events', { body: { events: [start, refund] } })
  const window = `from=${START - 801 * DAY}&to=${START - 780 * DAY}`
  const chart = async (code: string) => (await api.call('GET', `/v4/analytics/charts/${code}?${window}`)).body.series[0].total
  expect([await chart('sales'), await chart('refunds'), await chart('refund-rate'), await chart('active-subscriptions')]).toEqual([
    0, 20, 100, 0,
  ])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { rebuildFacts } from '../../../domain/analytics/folding/rebuild.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

// Refunds that an app's server posts of transactions that are recorded as purchases.

const HOUR_MS = 3_600_000
const START = Math.floor(Date.now() / 1000) * 1000 - 20 * HOUR_MS
let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  await api.pool.query(`insert into currency_rates values ('EUR', '2020-01-01', 1.5), ('GBP', '2020-01-01', 2)`)
})
afterAll(() => api.stop())

let n = 0
const iso = (hours: number) => new Date(START + hours * HOUR_MS).toISOString()
const unique = () => `posted-back-${++n}`
const record = (user: string, transaction_id: string) =>
  purchaseOf(api, user, {
    ...{ price: '10', currency: 'EUR', purchased_at: iso(0), expires_at: iso(24 * 30) },
    app_store_data: { transaction_id, product_id: 'm' },
  })
type Given = { price?: string; currency?: string }
const eventOf = (user: string, transaction_id: string, event_name: string, hours: number, { price, currency = 'EUR' }: Given) => ({
  ...{ event_id: unique(), event_name, customer_uid: user, happened_at: iso(hours), platform: 'iOS', transaction: { transaction_id } },
  ...(price !== undefined && { price, currency }),
})
const post = async (...events: object[]) => {
  const { body } = await api.call('POST', '/v4/events', { body: { events } })
  expect(body.created).toBe(events.length)
  return body.unmatched_refunds
}
const refund = (user: string, transaction: string, hours: number, given: Given = {}) =>
  post(eventOf(user, transaction, 'subscription_refunded', hours, given))

const GENERATION = '(select coalesce(max(s.generation), 1) from fact_state s where s.environment = f.environment)'

/** Refunds in the charts by their hours, the sums of the customer, the end of access, and refunds in the log. */
async function userState(user: string) {
  await drainMarks(api.pool, api.project.production, 1_000)
  const { rows } = await api.pool.query(
    `select (f.happened - $2) / 3600 as hours, f.amount::float8 / 1e6 as amount from transaction_facts f
     join users u on u.no = f.user_no where u.id = $1 and f.kind = 6 and f.generation = ${GENERATION} order by 1`,
    [user, START / 1000],
  )
  const { rows: sums } = await api.pool.query(
    `select u.status, u.net_payments_usd::float8 as net, (select sum(e.price)::float8 from events e where e.user_id = u.id and e.price < 0) as log,
       (select extract(epoch from p.access_until) - $2 from purchases p where p.user_id = u.id)::float8 / 3600 as access
     from users u where u.id = $1`,
    [user, START / 1000],
  )
  const { rows: charged } = await api.pool.query(
    `select f.refunded::float8 / 1e6 as refunded, f.refunded_at is not null as is_refunded from transaction_facts f join users u on u.no = f.user_no
     where u.id = $1 and f.kind = 2 and f.generation = ${GENERATION}`,
    [user],
  )
  return { refunds: rows.map(({ hours, amount }) => [hours, amount]), ...sums[0], ...charged[0] }
}
const WHOLE = { refunds: [[3, 10]], status: 'churned', net: 0, log: -10, access: 3, refunded: 10, is_refunded: true }

test('is a refund of the purchase, whichever comes first, and ends its access', async () => {
  const [before, after] = [await userOf(api), await userOf(api)]
  const [first, second] = [unique(), unique()]
  expect(await refund(before, first, 3, { price: '10' })).toBe(1)
  expect((await userState(before)).refunds).toEqual([])
  await record(before, first)
  await record(after, second)
  expect(await refund(after, second, 3, { price: '10' })).toBe(0)
  expect(await userState(before)).toEqual(WHOLE)
  expect(await userState(after)).toEqual(WHOLE)
})

test('what an earlier version has stored without it is mended by the rebuild that follows', async () => {
  const [user, transaction] = [await userOf(api), unique()]
  await record(user, transaction)
  await refund(user, transaction, 3, { price: '10' })
  await userState(user)
  await api.pool.query(`update users set net_payments_usd = 15, status = 'active' where id = $1`, [user])
  await api.pool.query('update purchases set access_until = expires_at where user_id = $1', [user])
  await rebuildFacts(api.pool, api.project.production, { isStopping: () => false })
  expect(await userState(user)).toEqual(WHOLE)
})

test('it stays one when the purchase passes to another user, and one that is posted of the former owner afterwards is the purchase’s, too', async () => {
  const [ann, ben] = [await userOf(api), await userOf(api)]
  const transaction = unique()
  await api.pool.query(`update projects set transfer_policy = 'transfer'`)
  await record(ann, transaction)
  await refund(ann, transaction, 2, { price: '4' })
  expect((await userState(ann)).net).toBe(9)
  const { status } = await record(ben, transaction)
  expect(status).toBe(201)
  expect(await userState(ben)).toMatchObject({ refunds: [[2, 4]], net: 9, access: 24 * 30, refunded: 4 })
  expect(await refund(ann, transaction, 3)).toBe(0)
  expect(await userState(ben)).toMatchObject({
    refunds: [
      [2, 4],
      [3, 6],
    ],
    status: 'churned',
    net: 0,
    access: 3,
    refunded: 10,
  })
})

test('several of them are several refunds, without an amount of all that is left, and never more than was paid', async () => {
  const [user, transaction] = [await userOf(api), unique()]
  await record(user, transaction)
  await refund(user, transaction, 2, { price: '2' })
  await refund(user, transaction, 4, { price: '3' })
  const parts = [
    [2, 2],
    [4, 3],
  ]
  expect(await userState(user)).toMatchObject({ refunds: parts, status: 'active', net: 7.5, access: 24 * 30, refunded: 5 })
  await refund(user, transaction, 6)
  expect(await userState(user)).toMatchObject({ refunds: [...parts, [6, 5]], status: 'churned', net: 0, access: 6, refunded: 10 })
  await refund(user, transaction, 7, { price: '9' })
  expect(await userState(user)).toMatchObject({ refunds: [...parts, [6, 5]], net: 0 })
  await post(eventOf(user, transaction, 'refund_reversed', 8, { price: '4' }))
  expect(await userState(user)).toMatchObject({
    refunds: [...parts, [6, 5], [8, -4]],
    status: 'active',
    net: 6,
    access: 24 * 30,
    refunded: 6,
  })
})

test('one that the purchase states, too, counts once, at the time that the purchase states', async () => {
  for (const isPostedFirst of [true, false]) {
    const [user, transaction] = [await userOf(api), unique()]
    const { body } = await record(user, transaction)
    const patch = (change: object) => api.call('PATCH', body.url, { body: change })
    if (isPostedFirst) await refund(user, transaction, 2, { price: '4' })
    expect((await patch({ refunded_at: iso(3), refunded_amount: '4' })).status).toBe(200)
    if (!isPostedFirst) await refund(user, transaction, 2, { price: '4' })
    const refundedAmount = isPostedFirst ? -4 : -8
    expect(await userState(user)).toMatchObject({ refunds: [[3, 4]], net: 9, log: refundedAmount, refunded: 4 })
    await patch({ refunded_at: iso(5), refunded_amount: '6' })
    const both = [
      [3, 4],
      [5, 2],
    ]
    expect(await userState(user)).toMatchObject({ refunds: both, net: 6, log: refundedAmount - 2, refunded: 6 })
    await patch({ refunded_at: null })
    expect(await userState(user)).toMatchObject({ refunds: [], net: 15, status: 'active', refunded: null })
  }
})

test('one in another currency is converted at the day of the charge', async () => {
  const [user, transaction] = [await userOf(api), unique()]
  await record(user, transaction)
  await refund(user, transaction, 2, { price: '3', currency: 'GBP' })
  expect(await userState(user)).toMatchObject({ refunds: [[2, 4]], net: 9, refunded: 4 })
  // Nothing tells how much of the charge it is.
  await refund(user, transaction, 3, { price: '3', currency: 'CHF' })
  expect(await userState(user)).toMatchObject({ refunds: [[2, 4]], net: 9 })
})

test('one in another currency than its posted charge is converted, too', async () => {
  const [user, transaction] = [await userOf(api), unique()]
  const charge = eventOf(user, transaction, 'subscription_started', 0, { price: '10' })
  await post({ ...charge, transaction: { transaction_id: transaction, expires_at: iso(24 * 30) } })
  await refund(user, transaction, 2, { price: '3', currency: 'GBP' })
  expect(await userState(user)).toMatchObject({ refunds: [[2, 4]], net: 9, refunded: 4 })
})

test('the answer counts refunds whose transaction is not known, by its id or without one by the subscription', async () => {
  const [user, other] = [await userOf(api), await userOf(api)]
  const [known, unknown] = [unique(), unique()]
  await record(user, known)
  const of = (transaction: string) => eventOf(user, transaction, 'subscription_refunded', 2, { price: '1' })
  const begun = { ...eventOf(user, unknown, 'subscription_started', 1, { price: '5' }), product_id: 'm' }
  const expires_at = iso(24 * 30)
  // Whoever posts it: the purchase is known.
  expect(await post(of(known), of(unknown), { ...of(known), customer_uid: other })).toBe(1)
  expect(await post(of(unknown), { ...begun, transaction: { transaction_id: unknown, expires_at } })).toBe(0)
  expect(await post(of(unknown))).toBe(0)
  const unnamed = { ...of(''), product_id: 'x', transaction: {} }
  expect(await post(unnamed)).toBe(1)
  expect(
    await post({ ...unnamed, event_id: unique() }, { ...begun, event_id: unique(), product_id: 'x', transaction: { expires_at } }),
  ).toBe(0)
})

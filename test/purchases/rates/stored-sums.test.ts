import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { foldUsersFirst } from '../../../domain/analytics/folding/fold-batch.ts'
import { recordedPurchases } from '../../../domain/purchases/subscriptions/recorded.ts'
import { recount } from '../../../domain/purchases/subscriptions/recount.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'coins', type: 'consumable', duration: null, apple_product_id: 'c' })
})
afterAll(() => api.stop())
beforeEach(() => api.pool.query('truncate currency_rates'))

const give = (currency: string, date: string, rate: string) =>
  api.pool.query('insert into currency_rates values ($1, $2, $3)', [currency, date, rate])

let n = 0
const post = async (user: string, event_name: string, given: { price?: string; transaction_id: string; [field: string]: unknown }) => {
  const { transaction_id, transaction_date, happened_at = '2026-03-10T12:00:00Z', ...money } = given
  const event = { event_id: `sum-${++n}`, event_name, customer_uid: user, happened_at, platform: 'iOS', ...money }
  const sent = { ...event, transaction: { transaction_id, ...(transaction_date !== undefined && { transaction_date }) } }
  const { body } = await api.call('POST', '/v4/events', { body: { events: [sent] } })
  expect(body.created).toBe(1)
}
const sums = async (user: string) => {
  await foldUsersFirst(api.pool, api.project.production, [user])
  const { rows } = await api.pool.query(
    `select payments_count as payments, converted_payments as converted, trim_scale(gross_payments_usd)::text as gross,
       trim_scale(net_payments_usd)::text as net from users where id = $1`,
    [user],
  )
  return rows[0]
}
const again = (user: string) =>
  transaction(api.pool, async tx =>
    recount(tx, api.project.production, [user], new Map(), await recordedPurchases(tx, api.project.production, [user])),
  )
const revenues = async (user: string) => {
  const { body } = await api.call('GET', `/v4/customers/${user}`)
  return body.data.trackEvents.map((event: { event: string; revenue_usd: number | null }) => [event.event, event.revenue_usd])
}

test('the USD that a sender states counts while the currency has no rate at all, and not a day longer', async () => {
  const user = await userOf(api)
  await post(user, 'in_app_purchase', { price: '10', currency: 'EUR', price_usd: '11.5', transaction_id: `${user}-1` })
  await post(user, 'in_app_purchase', { price: '10', currency: 'GBP', transaction_id: `${user}-2` })
  expect(await sums(user)).toEqual({ payments: 2, converted: 1, gross: '11.5', net: '11.5' })
  expect(await revenues(user)).toEqual([
    ['in_app_purchase', null],
    ['in_app_purchase', 11.5],
  ])
  await give('EUR', '2030-01-01', '1.2')
  await again(user)
  expect(await sums(user)).toEqual({ payments: 2, converted: 1, gross: '12', net: '12' })
  await give('GBP', '2020-01-01', '1.3')
  await again(user)
  expect(await sums(user)).toEqual({ payments: 2, converted: 2, gross: '25', net: '25' })
  expect(await revenues(user)).toEqual([
    ['in_app_purchase', 13],
    ['in_app_purchase', 12],
  ])
})

test('an amount in USD is itself, whatever the sender states', async () => {
  const user = await userOf(api)
  await post(user, 'in_app_purchase', { price: '10', currency: 'USD', price_usd: '99', transaction_id: `${user}-1` })
  expect(await sums(user)).toMatchObject({ gross: '10', net: '10' })
})

test('a posted payment has the rate of its own day when it is stored', async () => {
  await give('EUR', '2026-03-01', '1.1')
  await give('EUR', '2026-03-05', '1.3')
  const user = await userOf(api)
  const transaction_date = '2026-03-04T23:59:59Z'
  await post(user, 'in_app_purchase', { price: '10', currency: 'EUR', price_usd: '1', transaction_id: `${user}-1`, transaction_date })
  expect(await sums(user)).toEqual({ payments: 1, converted: 1, gross: '11', net: '11' })
})

test('a refund has the rate of the day of its transaction, so a full one leaves nothing', async () => {
  await give('EUR', '2026-03-01', '1.1')
  await give('EUR', '2026-03-05', '1.3')
  const user = await userOf(api)
  const payment = { price: '10', currency: 'EUR', transaction_id: `${user}-1`, happened_at: '2026-03-02T00:00:00Z' }
  await post(user, 'in_app_purchase', payment)
  await post(user, 'in_app_refunded', { price: '4', currency: 'EUR', transaction_id: `${user}-1` })
  expect(await sums(user)).toMatchObject({ gross: '11', net: '6.6' })
  await post(user, 'in_app_refunded', { price: '30', currency: 'EUR', transaction_id: `${user}-1` })
  expect(await sums(user)).toMatchObject({ gross: '11', net: '0' })
  expect(await revenues(user)).toEqual([
    ['in_app_refunded', -33],
    ['in_app_refunded', -4.4],
    ['in_app_purchase', 11],
  ])
})

test('without a rate a refund gives back its part of the USD that the sender stated', async () => {
  const user = await userOf(api)
  const id = `${user}-1`
  await post(user, 'in_app_purchase', { price: '9', currency: 'EUR', price_usd: '10', transaction_id: id })
  await post(user, 'in_app_refunded', { price: '3', currency: 'EUR', transaction_id: id })
  expect(await sums(user)).toMatchObject({ gross: '10', net: '6.666667' })
  await post(user, 'refund_reversed', { price: '3', currency: 'EUR', transaction_id: id })
  expect(await sums(user)).toMatchObject({ gross: '10', net: '10' })
  await post(user, 'in_app_refunded', { price: '9', currency: 'EUR', transaction_id: id })
  expect(await sums(user)).toMatchObject({ gross: '10', net: '0' })
  const other = await userOf(api)
  await post(other, 'in_app_purchase', { price: '9', currency: 'EUR', price_usd: '10', transaction_id: other })
  await post(other, 'in_app_refunded', { price: '9', currency: 'EUR', transaction_id: other })
  expect(await sums(other)).toMatchObject({ gross: '10', net: '0' })
})

test('what went back never exceeds the payment, and what was taken back never the refunds, at any time', async () => {
  const user = await userOf(api)
  const id = `${user}-1`
  const of = { currency: 'USD', transaction_id: id }
  const after = async (event: string, price?: string) => {
    await post(user, event, price === undefined ? { transaction_id: id } : { ...of, price })
    return (await sums(user)).net
  }
  expect(await after('in_app_purchase', '10')).toBe('10')
  expect(await after('in_app_refunded', '8')).toBe('2')
  expect(await after('in_app_refunded', '8')).toBe('0')
  expect(await after('refund_reversed', '4')).toBe('4')
  expect(await after('refund_reversed')).toBe('10')
  expect(await after('refund_reversed', '4')).toBe('10')
  expect(await after('in_app_refunded', '3')).toBe('7')
  expect(await after('in_app_refunded')).toBe('0')
})

test('a recorded purchase and its refund follow the rates as well', async () => {
  const user = await userOf(api)
  const app_store_data = { transaction_id: `${user}-1`, product_id: 'c' }
  const { body } = await purchaseOf(api, user, { price: '10', currency: 'EUR', purchased_at: '2026-03-02T00:00:00Z', app_store_data })
  expect(await sums(user)).toEqual({ payments: 1, converted: 0, gross: '0', net: '0' })
  await api.call('PATCH', body.url, { body: { refunded_at: '2026-03-07T00:00:00Z', refunded_amount: '5' } })
  await give('EUR', '2026-03-01', '1.1')
  await give('EUR', '2026-03-05', '1.3')
  await again(user)
  expect(await sums(user)).toEqual({ payments: 1, converted: 1, gross: '11', net: '5.5' })
  expect((await revenues(user)).sort()).toEqual([
    ['in_app_purchase', 11],
    ['in_app_refunded', -5.5],
  ])
})

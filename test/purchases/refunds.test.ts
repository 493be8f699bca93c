import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { foldUsersFirst } from '../../domain/analytics/folding/fold-batch.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
import { exportAll } from '../harness/exports.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true })
  const links = { apple_product_id: 'm', google_product_id: 'm', stripe_product_id: 'm' }
  await product(api, { id: 'monthly', ...links })
  await product(api, { id: 'coins', type: 'consumable', duration: null, apple_product_id: 'c', google_product_id: 'c' })
  await api.pool.query(`insert into currency_rates values ('EUR', '2020-01-01', 1.0843)`)
})
afterAll(() => api.stop())

const ago = (hours: number) => `${new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19)}Z`
const valuesOf = async (user: string) => {
  const { rows } = await api.pool.query(
    'select name, price::float8 as price from events where user_id = $1 and price is not null order by log_offset',
    [user],
  )
  return rows.map(({ name, price }) => [name, price])
}
const netOf = async (user: string) => {
  const { rows } = await api.pool.query('select net_payments_usd::float8 as net from users where id = $1', [user])
  return rows[0].net as number
}

test('a refund that is taken back is emitted with its value, wholly or partly', async () => {
  const user = await userOf(api)
  const app_store_data = { transaction_id: 'back-1', product_id: 'm' }
  const { body } = await purchaseOf(api, user, { price: '10', purchased_at: ago(3), app_store_data })
  const patch = (change: object) => api.call('PATCH', body.url, { body: change })
  await patch({ refunded_at: ago(2) })
  await patch({ refunded_amount: '4' })
  await patch({ refunded_at: null })
  await patch({ refunded_at: null })
  expect(await valuesOf(user)).toEqual([
    ['subscription_started', 10],
    ['subscription_refunded', -10],
    ['refund_reversed', 6],
    ['refund_reversed', 4],
  ])
})

test('callers may post it; it gives back what was refunded, with a value over 0', async () => {
  const user = await userOf(api)
  const transaction = { transaction_id: 'posted-back', expires_at: '2126-01-01T00:00:00Z' }
  let n = 0
  const post = (event_name: string, price: string) => {
    const event = {
      event_id: `back-${++n}`,
      event_name,
      customer_uid: user,
      happened_at: ago(9 - n),
      platform: 'iOS',
      price,
      currency: 'USD',
    }
    return api.call('POST', '/v4/events', { body: { events: [{ ...event, transaction }] } })
  }
  const userState = async () => {
    await foldUsersFirst(api.pool, api.project.production, [user])
    const { rows } = await api.pool.query('select status, net_payments_usd::float8 as net from users where id = $1', [user])
    return rows[0]
  }
  await post('subscription_started', '10')
  await post('subscription_refunded', '10')
  expect(await userState()).toEqual({ status: 'churned', net: 0 })
  expect((await post('refund_reversed', '0')).body.error.details[0].field).toBe('events[0].price')
  expect((await post('refund_reversed', '10')).body.created).toBe(1)
  expect(await userState()).toEqual({ status: 'active', net: 10 })
  const uid = await api.call('POST', '/v4/automations', {
    body: {
      name: 'A',
      status: 'inactive',
      data: { initiators: [{ uid: '21', type: 'event' }], steps: [{ id: 'd', type: 'delay', duration: 'PT1S' }] },
    },
  })
  expect(uid.status).toBe(201)
})

test('billing retry that is set, cleared and set again within one period is emitted once', async () => {
  const user = await userOf(api)
  const { body } = await purchaseOf(api, user, { purchased_at: ago(3), app_store_data: { transaction_id: 'retry-1', product_id: 'm' } })
  for (const billing_retry_at of [ago(2), null, ago(1), null, ago(1)])
    expect((await api.call('PATCH', body.url, { body: { billing_retry_at } })).status).toBe(200)
  const { rows } = await api.pool.query('select name from events where user_id = $1 order by log_offset', [user])
  expect(rows.map(({ name }) => name)).toEqual(['subscription_started', 'subscription_billing_retry_entered'])
})

const stores = ['app_store_data', 'play_store_data', 'stripe_store_data'] as const
const dataOf = (store: (typeof stores)[number], id: string, product_id: string) =>
  ({
    app_store_data: { transaction_id: id, product_id },
    play_store_data: { purchase_token: id, order_id: id, product_id },
    stripe_store_data: { subscription_id: id, product_id: 'm' },
  })[store]

test('the sums over the log and over the exports are the money of the customer, whatever is refunded and taken back', async () => {
  const step = fc.oneof(fc.constant(null), fc.constant('all' as const), fc.integer({ min: 1, max: 1999 }))
  const sold = fc.record({
    store: fc.constantFrom(...stores),
    product: fc.constantFrom('m', 'c'),
    currency: fc.constantFrom('USD', 'EUR'),
    steps: fc.array(step, { maxLength: 5 }),
  })
  const users: string[] = []
  let made = 0
  const cents = (n: number) => (n / 100).toFixed(2)
  await fc.assert(
    fc.asyncProperty(fc.array(sold, { minLength: 1, maxLength: 3 }), async all => {
      const user = await userOf(api)
      users.push(user)
      for (const { store, product, currency, steps } of all) {
        const input = { price: '19.99', currency, purchased_at: ago(3), [store]: dataOf(store, `sum-${++made}`, product) }
        const { body } = await purchaseOf(api, user, input)
        for (const amount of steps) {
          const change =
            amount === null ? { refunded_at: null } : { refunded_at: ago(1), refunded_amount: amount === 'all' ? '19.99' : cents(amount) }
          expect((await api.call('PATCH', body.url, { body: change })).status).toBe(200)
        }
      }
      const { rows } = await api.pool.query(
        `select sum(price_usd)::float8 as usd, abs(sum(e.proceeds_usd) - (
           select sum((p.amount - coalesce(p.refunded_amount, 0)) * usd_rate(p.currency, current_date) * case p.platform
             when 'app_store' then 0.7 when 'stripe' then 1 else case when p.is_subscription then 0.85 else 0.7 end end)
           from purchases p where p.user_id = $1)) < 0.0001 as same_proceeds from events e where user_id = $1`,
        [user],
      )
      expect(rows[0].usd).toBeCloseTo(await netOf(user), 6)
      expect(rows[0].same_proceeds).toBe(true)
    }),
    { numRuns: share(30), seed: 21 },
  )
  const window = { from_timestamp: ago(24), to_timestamp: ago(-24) }
  const { text } = await exportAll(api, { type: 'purchases', ...window })
  const rows: Record<string, string>[] = parse(text, { columns: true })
  for (const user of users) {
    const sum = rows.filter(row => row['Q User ID'] === user).reduce((usd, row) => usd + Number(row['Price USD']), 0)
    expect(sum).toBeCloseTo(await netOf(user), 6)
  }
  expect(rows.some(row => row['Event Name'] === 'Refund Reversed' && row.Refund === 'false')).toBe(true)
})

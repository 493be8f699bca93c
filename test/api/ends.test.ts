import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

// Who ended a subscription, and what a discount makes free, as callers state it.

let api: TestApi
let key: string
beforeAll(async () => {
  api = await startApi()
  key = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'm' }, key)
})
afterAll(() => api.stop())

const DAY = 86_400_000
let purchases = 0
const named = () => {
  const id = `ends-${++purchases}`
  return { app_store_data: { transaction_id: id, original_transaction_id: id, product_id: 'm' } }
}
const clock = async () => Date.parse((await api.call('GET', '/v4/test-clock', { key })).body.now)
const day = async (n: number) => `${new Date((await clock()) + n * DAY).toISOString().slice(0, 19)}Z`
const advance = (by: string) => api.call('POST', '/v4/test-clock/advance', { key, body: { by } })
const patch = (url: string, body: object) => api.call('PATCH', url, { key, body })
const eventsOf = async (user: string) => {
  const { rows } = await api.pool.query(
    'select name, reason, is_voluntary, is_discounted from events where user_id = $1 order by log_offset',
    [user],
  )
  return rows.map(row => [row.name, row.reason, row.is_voluntary, row.is_discounted])
}
async function bought(given: Record<string, unknown> = {}) {
  const user = await userOf(api, key)
  const times = { purchased_at: await day(-1), expires_at: await day(10) }
  const { status, body } = await purchaseOf(api, user, { ...times, ...named(), ...given }, key)
  expect(status).toBe(201)
  return { user, purchase: body }
}

test('a subscription whose charge fails for good ends without a cancellation', async () => {
  const [unpaid, given, cancelled] = [await bought(), await bought(), await bought()]
  // A renewal may join for 24 hours.
  await advance('P10D')
  await advance('PT12H')
  for (const { purchase } of [unpaid, given, cancelled])
    expect((await patch(purchase.url, { billing_retry_at: purchase.expires_at })).status).toBe(200)
  await advance('P2D')
  expect((await patch(given.purchase.url, { is_auto_renewing: false, is_voluntary: false })).status).toBe(200)
  expect((await patch(cancelled.purchase.url, { is_auto_renewing: false })).status).toBe(200)
  await advance('P70D')
  const begun = [
    ['subscription_started', null, null, null],
    ['subscription_billing_retry_entered', null, null, null],
  ]
  const failed = ['subscription_expired', 'billing_error', null, null]
  expect(await eventsOf(unpaid.user)).toEqual([...begun, failed])
  expect(await eventsOf(given.user)).toEqual([...begun, failed])
  expect(await eventsOf(cancelled.user)).toEqual([
    ...begun,
    ['subscription_canceled', null, null, null],
    ['subscription_expired', null, null, null],
  ])
})

test('what is stated together with the end of charging is its cause', async () => {
  const [failed, cleared] = [await bought(), await bought()]
  await advance('P9D')
  const at = await day(0)
  const givenUp = { is_auto_renewing: false, is_voluntary: false }
  expect((await patch(failed.purchase.url, { ...givenUp, billing_retry_at: at })).status).toBe(200)
  await patch(cleared.purchase.url, { billing_retry_at: at })
  expect((await patch(cleared.purchase.url, { ...givenUp, billing_retry_at: null })).status).toBe(200)
  const names = async (user: string) => (await eventsOf(user)).filter(([name]) => name.includes('cancel'))
  expect(await names(failed.user)).toEqual([])
  expect(await names(cleared.user)).toEqual([['subscription_canceled', null, false, null]])
  // A charge that is taken after all takes no cancellation back; what is cancelled afterwards is told.
  await patch(failed.purchase.url, { billing_retry_at: null, is_auto_renewing: true })
  expect(await names(failed.user)).toEqual([])
  await patch(failed.purchase.url, { is_auto_renewing: false })
  expect(await names(failed.user)).toEqual([['subscription_canceled', null, null, null]])
})

test('a cancellation that the customer did not want says so', async () => {
  const { user, purchase } = await bought()
  const refused = await patch(purchase.url, { is_voluntary: false })
  expect([refused.status, refused.body.error.details]).toMatchObject([400, [{ field: 'is_voluntary' }]])
  await patch(purchase.url, { is_auto_renewing: false, is_voluntary: false })
  expect((await eventsOf(user)).at(-1)).toEqual(['subscription_canceled', null, false, null])
})

test('a full discount is no trial', async () => {
  const { user, purchase } = await bought({ price: '0', is_discounted: true })
  expect(purchase).toMatchObject({ price: '0', period_type: 'normal', is_discounted: true })
  expect(await eventsOf(user)).toEqual([['subscription_started', null, null, true]])
  const { purchase: trial } = await bought({ price: '0' })
  expect(trial).toMatchObject({ period_type: 'trial', is_discounted: false })
  for (const period_type of ['intro', 'trial']) {
    const given = { price: '0', is_discounted: true, period_type, purchased_at: await day(-1), ...named() }
    const { status, body } = await purchaseOf(api, await userOf(api, key), given, key)
    expect([status, body.error.details]).toEqual([400, [{ field: 'period_type', message: 'must be normal when a discount makes it free' }]])
  }
  const intro = await bought({ is_discounted: true, period_type: 'intro' })
  expect(await eventsOf(intro.user)).toEqual([['subscription_started', null, null, true]])
})

test('a one-time purchase tells no discount, which a posted one may not state', async () => {
  await product(api, { id: 'coins', type: 'consumable', duration: null, apple_product_id: 'coins' }, key)
  const user = await userOf(api, key)
  const given = { is_discounted: true, purchased_at: await day(-1), app_store_data: { transaction_id: 'coins-1', product_id: 'coins' } }
  const { status, body } = await purchaseOf(api, user, given, key)
  expect([status, body.is_discounted]).toEqual([201, true])
  expect(await eventsOf(user)).toEqual([['in_app_purchase', null, null, null]])
})

test('posted events state the same, and only of what they can be stated', async () => {
  const item = (event_name: string, more: object) => ({
    ...{ event_id: `posted-${event_name}`, event_name, identity_id: 'ann', platform: 'Stripe', product_id: 'pro', ...more },
    transaction: { original_transaction_id: 'posted' },
  })
  const at = await day(-1)
  const started = { happened_at: await day(-40), price: '0', currency: 'EUR', is_discounted: true }
  const events = [
    { ...item('subscription_started', started), transaction: { original_transaction_id: 'posted', expires_at: await day(-2) } },
    item('subscription_canceled', { happened_at: at, is_voluntary: false }),
    item('subscription_expired', { happened_at: at, reason: 'billing_error' }),
    item('trial_started', { happened_at: at, is_discounted: true }),
    item('subscription_refunded', { happened_at: at, reason: 'billing_error' }),
  ]
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body).toMatchObject({ created: 3, rejected: 2 })
  const { rows } = await api.pool.query(`select id from users where identity_id = 'ann'`)
  expect((await eventsOf(rows[0].id)).sort()).toEqual([
    ['subscription_canceled', null, false, null],
    ['subscription_expired', 'billing_error', null, null],
    ['subscription_started', null, null, true],
  ])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { PerennialError, perennial } from '../../clients/typescript/src/index.ts'
import { startApi, type TestApi } from '../harness/api.ts'

// The whole life of one subscriber, over HTTP in the sandbox: after every step the test checks access, money and events.

const DAY = 86_400
const HOUR = 3_600

let host: TestApi
let api: ReturnType<typeof perennial>
let start: number
beforeAll(async () => {
  host = await startApi({ worker: true })
  api = perennial({ url: host.url, key: host.project.sandbox })
  start = Date.parse((await api.v4GetTestClock()).now) / 1000
})
afterAll(() => host.stop())

const at = (seconds: number) => `${new Date((start + seconds) * 1000).toISOString().slice(0, 19)}Z`
const goTo = (seconds: number) => api.v4AdvanceTestClock({ body: { to: at(seconds) } })
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was not refused'),
    error => (error instanceof PerennialError ? `${error.status} ${error.code}` : Promise.reject(error)),
  )

let user = ''
let recorded: [name: string, at: string][] = []

/** The names of the events since the last call of `news`. */
async function news(): Promise<string[]> {
  const { data } = await api.v4ListEvents({ query: { limit: 40, sort_order: 'asc' } })
  const all = data.filter(event => event.customer_uid === user).map(event => [event.event_name!, event.happened_at] as [string, string])
  const fresh = all.filter(([name, time]) => !recorded.some(([n, t]) => n === name && t === time))
  recorded = all
  return fresh.map(([name]) => name)
}
const happened = (name: string) => recorded.filter(([n]) => n === name).map(([, time]) => time)

/** The one entitlement, the customer's status and money: every step changes some of these. */
async function userState() {
  const { data: entitlements } = await api.v4ListUserEntitlements({ path: { user_id: user } })
  const { data: customer } = await api.v4GetCustomer({ path: { customer_id: user } })
  expect(entitlements.length).toBeLessThanOrEqual(1)
  const [hold] = entitlements
  return {
    status: customer.customer.status,
    net: customer.netPayments,
    hold: hold && {
      is_active: hold.is_active,
      started_at: hold.started_at,
      expires_at: hold.expires_at,
      source: hold.source,
      ...hold.product?.subscription,
    },
  }
}

const charge = (transaction: string, price: string, begins: number, ends: number) =>
  api.v4CreatePurchase({
    path: { user_id: user },
    body: {
      currency: 'USD',
      price,
      purchased_at: at(begins),
      expires_at: at(ends),
      app_store_data: { transaction_id: transaction, original_transaction_id: 'life-1', product_id: 'com.example.monthly' },
    },
  })

test('the first offering of a new catalogue is the main one', async () => {
  await api.v4CreateProduct({
    body: { id: 'monthly', type: 'subscription_with_promo', duration: 'P1M', apple_product_id: 'com.example.monthly' },
  })
  await api.v4CreateEntitlement({ body: { id: 'pro', product_ids: ['monthly'] } })
  expect(await api.v4CreateOffering({ body: { id: 'standard', product_ids: ['monthly'] } })).toMatchObject({ tag: 1 })
})

test('one person on two devices is one user', async () => {
  user = (await api.v4CreateUser({ body: { environment: 'sandbox' } })).id
  await api.v4CreateIdentity({ body: { identity_id: 'anna', user_id: user } })
  const second = (await api.v4CreateUser({ body: { environment: 'sandbox' } })).id
  expect(await refusal(api.v4CreateIdentity({ body: { identity_id: 'anna', user_id: second } }))).toBe('409 already_exists')
  expect((await api.v4GetIdentity({ path: { identity_id: 'anna' } })).user_id).toBe(user)
  expect(await userState()).toEqual({ status: 'none', net: 0, hold: undefined })
  expect(await news()).toEqual([])
})

const CONVERTED = 7 * DAY
const FIRST_END = CONVERTED + 30 * DAY
const RENEWED = FIRST_END + 6 * HOUR
const SECOND_END = RENEWED + 30 * DAY
const RECOVERED = SECOND_END + 8 * DAY
const THIRD_END = RECOVERED + 30 * DAY
const hold = { source: 'appstore', renew_state: 'will_renew', current_period_type: 'normal', started_at: '', is_active: true }

test('a trial gives access at once', async () => {
  await charge('t-1', '0', 0, CONVERTED)
  expect(await userState()).toEqual({
    status: 'trial',
    net: 0,
    hold: { ...hold, started_at: at(0), expires_at: at(CONVERTED), current_period_type: 'trial' },
  })
  expect(await news()).toEqual(['trial_started'])
  await goTo(3 * DAY)
  expect(await news()).toEqual(['trial_still_active'])
})

test('the trial converts: one run from the trial on', async () => {
  await goTo(CONVERTED)
  await charge('t-2', '9.99', CONVERTED, FIRST_END)
  expect(await userState()).toEqual({ status: 'active', net: 9.99, hold: { ...hold, started_at: at(0), expires_at: at(FIRST_END) } })
  expect(await news()).toEqual(['trial_converted'])
  expect(happened('trial_converted')).toEqual([at(CONVERTED)])
})

test('a late renewal leaves a gap without access and is still a renewal', async () => {
  await goTo(FIRST_END + HOUR)
  expect(await userState()).toMatchObject({ status: 'active', hold: { is_active: false, expires_at: at(FIRST_END) } })
  expect(await news()).toEqual([])
  await goTo(RENEWED)
  await charge('t-3', '9.99', RENEWED, SECOND_END)
  expect(await userState()).toEqual({ status: 'active', net: 19.98, hold: { ...hold, started_at: at(0), expires_at: at(SECOND_END) } })
  expect(await news()).toEqual(['subscription_renewed'])
})

test('billing retry: access during the grace period, none after it, and again when the charge succeeds', async () => {
  await goTo(SECOND_END)
  const [last] = (await api.v4ListUserPurchases({ path: { user_id: user }, query: { limit: 1 } })).data
  const path = { user_id: user, purchase_id: last!.id }
  await api.v4UpdateUserPurchase({ path, body: { billing_retry_at: at(SECOND_END), grace_period_expires_at: at(SECOND_END + 6 * DAY) } })
  const issue = { ...hold, renew_state: 'billing_issue', started_at: at(0), expires_at: at(SECOND_END + 6 * DAY) }
  expect(await userState()).toEqual({ status: 'billing_retry', net: 19.98, hold: issue })
  expect(await news()).toEqual(['subscription_billing_retry_entered'])
  await goTo(SECOND_END + 7 * DAY)
  expect(await userState()).toEqual({ status: 'billing_retry', net: 19.98, hold: { ...issue, is_active: false } })
  await goTo(RECOVERED)
  await charge('t-4', '9.99', RECOVERED, THIRD_END)
  expect(await userState()).toEqual({ status: 'active', net: 29.97, hold: { ...hold, started_at: at(0), expires_at: at(THIRD_END) } })
  expect(await news()).toEqual(['subscription_renewed'])
})

test('a cancelled subscription continues; a refund ends it at once and subtracts only its own charge', async () => {
  await goTo(RECOVERED + DAY)
  const [last] = (await api.v4ListUserPurchases({ path: { user_id: user }, query: { limit: 1 } })).data
  const path = { user_id: user, purchase_id: last!.id }
  await api.v4UpdateUserPurchase({ path, body: { is_auto_renewing: false } })
  const canceled = { ...hold, renew_state: 'canceled', started_at: at(0), expires_at: at(THIRD_END) }
  expect(await userState()).toEqual({ status: 'canceled', net: 29.97, hold: canceled })
  expect(await news()).toEqual(['subscription_canceled'])
  const refunded_at = at(RECOVERED + DAY)
  await api.v4UpdateUserPurchase({ path, body: { refunded_at } })
  expect(await userState()).toEqual({ status: 'churned', net: 19.98, hold: { ...canceled, is_active: false, expires_at: refunded_at } })
  expect(await news()).toEqual(['subscription_refunded', 'subscription_expired'])
  expect(happened('subscription_expired')).toEqual([refunded_at])
})

test('a new purchase after the end is a new run', async () => {
  const again = RECOVERED + 5 * DAY
  await goTo(again)
  await charge('t-5', '9.99', again, again + 30 * DAY)
  expect(await userState()).toEqual({
    status: 'active',
    net: 29.97,
    hold: { ...hold, started_at: at(again), expires_at: at(again + 30 * DAY) },
  })
  expect(await news()).toEqual(['subscription_started'])
  const { data: customer } = await api.v4GetCustomer({ path: { customer_id: user } })
  expect(customer.trackEvents.map(({ event }) => event)).toEqual([...recorded].reverse().map(([name]) => name))
})

test('an erasure leaves no trace of the user', async () => {
  await api.v4DeleteCustomer({ path: { customer_id: user } })
  expect(await refusal(api.v4GetCustomer({ path: { customer_id: user } }))).toBe('404 not_found')
  expect(await refusal(api.v4GetIdentity({ path: { identity_id: 'anna' } }))).toBe('404 not_found')
  expect(await refusal(api.v4ListUserEntitlements({ path: { user_id: user } }))).toBe('404 not_found')
  expect((await api.v4ListEvents({ query: { limit: 40 } })).data.filter(event => event.customer_uid === user)).toEqual([])
})

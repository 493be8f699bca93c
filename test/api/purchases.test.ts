import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, {
    id: 'monthly',
    apple_product_id: 'com.x.monthly',
    stripe_product_id: 'prod_m',
    google_product_id: 'g.monthly',
    paddle_product_id: 'pd_m',
  })
  await product(api, { id: 'annual', duration: 'P1Y', apple_product_id: 'com.x.annual' })
  await product(api, { id: 'coins', type: 'consumable', duration: null, apple_product_id: 'com.x.coins', paddle_product_id: 'pd_c' })
})
afterAll(() => api.stop())

const path = (user: string) => `/v4/users/${user}/purchases`
const day = (n: number) => `${new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 19)}Z`
const names = async (user: string) => {
  const { rows } = await api.pool.query<{ name: string }>('select name from events where user_id = $1 order by happened_at, log_offset', [
    user,
  ])
  return rows.map(row => row.name)
}
let n = 0
const apple = (product_id: string, original?: string) => {
  const transaction_id = `t${++n}`
  return { app_store_data: { transaction_id, product_id, ...(original && { original_transaction_id: original }) } }
}

describe('recording a purchase', () => {
  test('a subscription has the period of its product, and every field', async () => {
    const user = await userOf(api)
    const answer = await api.call('POST', path(user), {
      body: { currency: 'eur', price: '9.990', purchased_at: '2026-01-31T10:00:00.9+01:00', ...apple('com.x.monthly') },
    })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(answer.body.url)
    expect(answer.body).toMatchObject({
      object: 'purchase',
      user_id: user,
      platform: 'app_store',
      product_id: 'com.x.monthly',
      currency: 'EUR',
      price: '9.990',
      purchased_at: '2026-01-31T09:00:00Z',
      expires_at: '2026-02-28T09:00:00Z',
      is_auto_renewing: true,
      period_type: 'normal',
      verified_at: null,
    })
    expect((await api.call('GET', answer.body.url)).body).toEqual(answer.body)
  })

  test.each([
    ['no store', {}, 'body'],
    ['two stores', { ...apple('com.x.monthly'), stripe_store_data: { subscription_id: 's', product_id: 'prod_m' } }, 'body'],
    ['no transaction', { app_store_data: { product_id: 'com.x.monthly' } }, 'app_store_data.transaction_id'],
    [
      'paddle without subscription',
      { paddle_store_data: { transaction_id: 'p', product_id: 'pd_m', type: 'subscription' } },
      'paddle_store_data.subscription_id',
    ],
    [
      'paddle says one-time',
      { paddle_store_data: { transaction_id: 'p', product_id: 'pd_m', type: 'non_recurring' } },
      'paddle_store_data.product_id',
    ],
    ['unknown currency', { ...apple('com.x.monthly'), currency: 'XXQ' }, 'currency'],
    ['future', { ...apple('com.x.monthly'), purchased_at: day(1) }, 'purchased_at'],
    ['expiry before begin', { ...apple('com.x.monthly'), expires_at: '2025-01-01T00:00:00Z' }, 'expires_at'],
    ['trial with a price', { ...apple('com.x.monthly'), period_type: 'trial' }, 'period_type'],
    ['free but normal', { ...apple('com.x.monthly'), price: '0', period_type: 'normal' }, 'period_type'],
    ['one-time with expiry', { ...apple('com.x.coins'), expires_at: day(1) }, 'expires_at'],
    ['one-time that renews', { ...apple('com.x.coins'), is_auto_renewing: true }, 'is_auto_renewing'],
  ])('400 on its field: %s', async (_, change, field) => {
    const user = await userOf(api)
    const answer = await api.call('POST', path(user), {
      body: { currency: 'USD', price: '9.99', purchased_at: '2026-01-01T00:00:00Z', ...change },
    })
    expect(answer.status).toBe(400)
    expect(answer.body.error.details[0].field).toBe(field)
    expect((await api.call('GET', path(user))).body.data).toEqual([])
  })

  test('the product is validated before the user, the user before the transaction', async () => {
    const body = { currency: 'USD', price: '1', purchased_at: '2026-01-01T00:00:00Z' }
    const call = (user: string, product_id: string) => api.call('POST', path(user), { body: { ...body, ...apple(product_id) } })
    expect((await call('QON_nobody', 'no;id')).body.error.code).toBe('invalid_product_id')
    expect((await call('QON_nobody', 'com.x.nothing')).body.error.code).toBe('product_not_in_project')
    expect((await call('QON_nobody', 'com.x.monthly')).status).toBe(404)
  })

  test('the same transaction again is 409, for another user, too', async () => {
    const [ann, ben] = [await userOf(api), await userOf(api)]
    const body = { currency: 'USD', price: '1', purchased_at: '2026-01-01T00:00:00Z', ...apple('com.x.monthly', 'shared-lineage') }
    expect((await api.call('POST', path(ann), { body })).status).toBe(201)
    expect((await api.call('POST', path(ann), { body })).body.error.code).toBe('already_exists')
    expect((await api.call('POST', path(ben), { body })).body.error.code).toBe('conflict')
    const renewal = { ...body, purchased_at: '2026-02-01T00:00:00Z', ...apple('com.x.monthly', 'shared-lineage') }
    expect((await api.call('POST', path(ben), { body: renewal })).body.error.code).toBe('conflict')
  })

  test('a recorded Stripe period is found by its time', async () => {
    const user = await userOf(api)
    const at = (purchased_at: string) =>
      api.call('POST', path(user), {
        body: { currency: 'USD', price: '1', purchased_at, stripe_store_data: { subscription_id: 'sub_1', product_id: 'prod_m' } },
      })
    expect((await at('2026-01-01T00:00:00Z')).status).toBe(201)
    expect((await at('2026-01-15T00:00:00Z')).status).toBe(409)
    expect((await at('2026-02-01T00:00:00Z')).status).toBe(201)
  })

  test('of 50 concurrent recordings of one transaction one is 201, and its event is recorded once', async () => {
    const users = await Promise.all(Array.from({ length: 5 }, () => userOf(api)))
    const body = { currency: 'USD', price: '1', purchased_at: day(-1), ...apple('com.x.monthly', 'raced') }
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => api.call('POST', path(users[i % 5]!), { body })))
    expect(answers.filter(answer => answer.status === 201)).toHaveLength(1)
    expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([201, 409]))
    const recorded = await Promise.all(users.map(names))
    expect(recorded.flat()).toEqual(['subscription_started'])
  })

  test('a signed transaction without verifier is refused', async () => {
    const user = await userOf(api)
    const answer = await api.call('POST', path(user), { body: { app_store_data: { signed_transaction: 'a.b.c' } } })
    expect(answer.body.error).toMatchObject({ type: 'logical', code: 'purchase_fraud' })
    const nobody = await api.call('POST', path('QON_nobody'), { body: { app_store_data: { signed_transaction: 'a.b.c' } } })
    expect(nobody.status).toBe(404)
  })
})

describe('the events of a subscription', () => {
  test('periods that arrive in any order end in the same access; only the last one renews', async () => {
    const periods = [0, 1, 2].map(i => ({
      ...apple('com.x.monthly'),
      price: i === 0 ? '0' : '9.99',
      purchased_at: day(-60 + i * 30),
      expires_at: day(-30 + i * 30),
    }))
    const shown = async (order: number[]) => {
      const user = await userOf(api)
      const lineage = `order-${user}`
      for (const i of order) {
        const app_store_data = { ...periods[i]!.app_store_data, transaction_id: `${user}-${i}`, original_transaction_id: lineage }
        expect((await purchaseOf(api, user, { ...periods[i], app_store_data })).status).toBe(201)
      }
      const { body } = await api.call('GET', path(user))
      const { rows } = await api.pool.query('select status, payments_count from users where id = $1', [user])
      return [body.data.map((p: { expires_at: string; is_auto_renewing: boolean }) => [p.expires_at, p.is_auto_renewing]), rows]
    }
    const first = await shown([0, 1, 2])
    for (const order of [
      [2, 1, 0],
      [1, 2, 0],
      [0, 2, 1],
    ])
      expect(await shown(order)).toEqual(first)
    expect(first[0]).toMatchObject([
      [expect.any(String), true],
      [expect.any(String), false],
      [expect.any(String), false],
    ])
  })

  test('auto-renew off, billing retry and refund are recorded when they are stated, once each', async () => {
    const user = await userOf(api)
    const made = await purchaseOf(api, user, { price: '10', purchased_at: day(-3), ...apple('com.x.monthly') })
    const patch = (body: object) => api.call('PATCH', made.body.url, { body })
    expect((await patch({ billing_retry_at: day(-1) })).status).toBe(200)
    await patch({ billing_retry_at: day(-1) })
    await patch({ billing_retry_at: null })
    await patch({ is_auto_renewing: false })
    await patch({ is_auto_renewing: false })
    await patch({ refunded_at: day(-1), refunded_amount: '4' })
    await patch({ refunded_at: day(-1), refunded_amount: '4' })
    await patch({ refunded_amount: '10' })
    const { rows } = await api.pool.query('select name, price::text as price from events where user_id = $1 order by log_offset', [user])
    expect(rows).toEqual([
      { name: 'subscription_started', price: '10.00' },
      { name: 'subscription_billing_retry_entered', price: null },
      { name: 'subscription_canceled', price: null },
      { name: 'subscription_refunded', price: '-4.00' },
      // The rest is refunded, which ends the run at once because auto-renew is off.
      { name: 'subscription_refunded', price: '-6.00' },
      { name: 'subscription_expired', price: null },
    ])
  })

  test('facts of the last period are refused for an earlier one, and for a one-time purchase', async () => {
    const user = await userOf(api)
    const old = await purchaseOf(api, user, { purchased_at: day(-40), ...apple('com.x.monthly', 'two-periods') })
    await purchaseOf(api, user, { purchased_at: day(-9), ...apple('com.x.monthly', 'two-periods') })
    const coins = await purchaseOf(api, user, { purchased_at: day(-9), ...apple('com.x.coins') })
    expect((await api.call('PATCH', old.body.url, { body: { is_auto_renewing: false } })).status).toBe(409)
    expect((await api.call('PATCH', old.body.url, { body: { billing_retry_at: day(-9) } })).status).toBe(409)
    expect((await api.call('PATCH', coins.body.url, { body: { expires_at: day(9) } })).body.error.details[0].field).toBe('expires_at')
  })

  test('a product change within the lineage is recorded once', async () => {
    const user = await userOf(api)
    await purchaseOf(api, user, { purchased_at: day(-25), ...apple('com.x.monthly', 'changing') })
    await purchaseOf(api, user, { purchased_at: day(-20), ...apple('com.x.annual', 'changing') })
    expect(await names(user)).toEqual(['subscription_started', 'subscription_renewed', 'subscription_product_changed'])
  })

  test('another product after the end of the run is a start and no change of product', async () => {
    const user = await userOf(api)
    const made = await purchaseOf(api, user, { purchased_at: day(-25), ...apple('com.x.monthly', 'ended-then') })
    await api.call('PATCH', made.body.url, { body: { is_auto_renewing: false, expires_at: day(-0.2) } })
    await purchaseOf(api, user, { purchased_at: day(-0.1), ...apple('com.x.annual', 'ended-then') })
    expect(await names(user)).toEqual(['subscription_started', 'subscription_expired', 'subscription_started', 'subscription_canceled'])
  })

  test('a start that was posted before is not recorded again', async () => {
    const user = await userOf(api)
    const transaction = { transaction_id: 'told', original_transaction_id: 'told' }
    const item = {
      event_id: 'told-1',
      event_name: 'subscription_started',
      customer_uid: user,
      happened_at: day(-2),
      platform: 'iOS',
      price: '9.99',
      currency: 'USD',
      transaction,
    }
    await api.call('POST', '/v4/events', { body: { events: [item] } })
    const data = { app_store_data: { transaction_id: 'told', product_id: 'com.x.monthly' } }
    expect((await purchaseOf(api, user, { purchased_at: day(-2), ...data })).status).toBe(201)
    expect(await names(user)).toEqual(['subscription_started'])
    const { rows } = await api.pool.query('select payments_count, net_payments_usd::text as net, status from users where id = $1', [user])
    expect(rows).toEqual([{ payments_count: 1, net: '9.99', status: 'active' }])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf } from '../harness/purchases.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  await product(api, { id: 'lifetime', type: 'lifetime', duration: null, apple_product_id: 'life' })
  for (const [id, product_ids] of [
    ['pro', ['monthly', 'lifetime']],
    ['gift', []],
    ['Zeta', []],
  ] as const)
    await api.call('POST', '/v4/entitlements', { body: { id, product_ids } })
  await api.call('POST', '/v4/entitlements', { body: { id: 'gift', product_ids: [] }, key: api.project.sandbox })
})
afterAll(() => api.stop())

const BEGAN = Math.floor(Date.now() / 1000)
const day = (n: number) => `${new Date(BEGAN * 1000 + n * 86_400_000).toISOString().slice(0, 19)}Z`
const unix = (n: number) => BEGAN + n * 86_400
const list = async (user: string, key = api.project.projectKey) => (await v3('GET', `/v3/users/${user}/entitlements`, { key })).body
const grant = (user: string, body: unknown, key = api.project.secret) => v3('POST', `/v3/users/${user}/entitlements`, { key, body })
const revoke = (user: string, id: string, key = api.project.secret) => v3('DELETE', `/v3/users/${user}/entitlements/${id}`, { key })
let n = 0
const user = async (environment = 'prod') => {
  const id = `QON_${++n}`
  await v3('POST', `/v3/users/${id}`, { body: { environment } })
  return id
}
const buy = (id: string, given: object, product_id = 'm') =>
  purchaseOf(api, id, {
    purchased_at: day(-1),
    price: '1',
    currency: 'USD',
    app_store_data: { transaction_id: `t${++n}`, product_id },
    ...given,
  })

describe('v3ListUserEntitlements', () => {
  test('active and lapsed, by id; what never expires has no expiry, what is granted no product', async () => {
    const id = await user()
    expect(await list(id)).toEqual({ object: 'list', data: [] })
    await api.call('POST', `/v4/users/${id}/entitlements`, { body: { entitlement_id: 'gift' } })
    await api.call('POST', `/v4/users/${id}/entitlements`, { body: { entitlement_id: 'Zeta', expires_at: unix(1) } })
    await api.pool.query(
      `update grants set starts_at = now() - interval '2 h', expires_at = now() - interval '1 h' where entitlement_id = 'Zeta'`,
    )
    await buy(id, { expires_at: day(3) })
    const { object, data } = await list(id)
    expect(object).toBe('list')
    expect(data).toEqual([
      { id: 'Zeta', active: false, started: expect.any(Number), expires: expect.any(Number), source: 'manual' },
      { id: 'gift', active: true, started: expect.any(Number), source: 'manual' },
      {
        id: 'pro',
        active: true,
        started: Date.parse(day(-1)) / 1000,
        expires: Date.parse(day(3)) / 1000,
        source: 'appstore',
        product: { product_id: 'monthly', subscription: { renew_state: 'will_renew', current_period_type: 'normal' } },
      },
    ])
  })

  test('of a one-time purchase there is no subscription', async () => {
    const id = await user()
    await buy(id, {}, 'life')
    expect((await list(id)).data).toMatchObject([{ id: 'pro', active: true, product: { product_id: 'lifetime' } }])
    expect((await list(id)).data[0].product).toEqual({ product_id: 'lifetime' })
  })

  test('acts in the environment of the user; an unknown one is 404', async () => {
    const id = await user('sandbox')
    expect((await grant(id, { id: 'gift', expires: unix(1) })).status).toBe(200)
    expect((await list(id)).data).toHaveLength(1)
    const nobody = await v3('GET', '/v3/users/nobody/entitlements')
    expect([nobody.status, nobody.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
  })
})

const entitlementError = (type: string, message: string) => v3Error(api, type, 'invalid_entitlement_data', message)
const WRONG_END = 'Invalid expires at value has been provided, should be in unix timestamp format in seconds in future'
const UNKNOWN = 'Invalid entitlement uid, no such entitlement found'
const PAID = 'Entitlement is granted by a purchase'

describe('v3GrantUserEntitlement', () => {
  test('an active grant keeps its first expiry, a lapsed one begins anew', async () => {
    const id = await user()
    const first = await grant(id, { id: 'gift', expires: unix(3) })
    const started = first.body.started
    expect([first.status, first.body]).toEqual([200, { id: 'gift', active: true, started, expires: unix(3), source: 'manual' }])
    expect(await grant(id, { id: 'gift', expires: unix(9) })).toMatchObject({ status: 200, body: first.body })
    await api.pool.query(`update grants set starts_at = now() - interval '2 h', expires_at = now() - interval '1 s' where user_id = $1`, [
      id,
    ])
    expect((await grant(id, { id: 'gift', expires: unix(9) })).body.expires).toBe(unix(9))
    await api.pool.query(`update grants set expires_at = null where user_id = $1`, [id])
    expect((await grant(id, { id: 'gift', expires: unix(10) })).body).not.toHaveProperty('expires')
    const { rows } = await api.pool.query(
      `select count(*)::int as entries from audit_log where user_id = $1 and resource = 'user_entitlement'`,
      [id],
    )
    expect(rows).toEqual([{ entries: 2 }])
  })

  test('each line of the table, in its order', async () => {
    const id = await user()
    const paid = await user()
    await buy(paid, { expires_at: day(3) })
    for (const expires of [undefined, null, 'soon', 1.5, unix(0) - 1, 0, -1, 253_402_300_800, true, { a: 1 }]) {
      const answer = await grant(id, { id: 'no-such', expires })
      expect([answer.status, answer.body]).toEqual([400, entitlementError('request', WRONG_END)])
    }
    for (const body of [{}, { id: null }, { id: 1 }, { expires: 1 }])
      expect(await grant(id, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_data' }, _meta: { fields: [{ name: 'id' }] } },
      })
    expect((await grant('nobody', { id: 'no-such' })).body).toEqual(v3Error(api, 'resource', 'not_found', 'User not found'))
    for (const [who, name, status, body] of [
      [paid, 'no-such', 400, entitlementError('request', UNKNOWN)],
      [paid, 'pro', 422, entitlementError('logical', PAID)],
    ] as const) {
      const answer = await grant(who, { id: name, expires: unix(1) })
      expect([answer.status, answer.body]).toEqual([status, body])
    }
    expect((await grant(id, { id: 'gift', expires: 253_402_300_799 })).status).toBe(200)
  })

  test('concurrent grants agree', async () => {
    const id = await user()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => grant(id, { id: 'gift', expires: unix(i + 1) })))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
})

describe('v3RevokeUserEntitlement', () => {
  test('ends the grant, and is done when there is none', async () => {
    const id = await user()
    await grant(id, { id: 'gift', expires: unix(1) })
    for (let i = 0; i < 2; i++) {
      const { status, text } = await revoke(id, 'gift')
      expect([status, text]).toEqual([200, '{}'])
      expect((await list(id)).data).toEqual([])
    }
  })

  test('an unknown user, an unknown entitlement, one that was bought', async () => {
    const id = await user()
    await buy(id, { expires_at: day(3) })
    for (const [who, name, status, body] of [
      ['nobody', 'no-such', 404, v3Error(api, 'resource', 'not_found', 'User not found')],
      [id, 'no-such', 400, entitlementError('request', UNKNOWN)],
      [id, 'pro', 422, entitlementError('logical', PAID)],
    ] as const) {
      const answer = await revoke(who, name)
      expect([answer.status, answer.body]).toEqual([status, body])
    }
  })
})

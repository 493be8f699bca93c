// Purchases of apps where no store is connected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  const links = { stripe_product_id: 'm', apple_product_id: 'm', google_product_id: 'm', paddle_product_id: 'm' }
  for (const key of [api.project.secret, api.project.sandbox]) {
    await product(api, { id: 'monthly', ...links }, key)
    await product(api, { id: 'coins', type: 'consumable', duration: undefined, apple_product_id: 'c', paddle_product_id: 'c' }, key)
    expect((await api.call('POST', '/v4/entitlements', { key, body: { id: 'premium', product_ids: ['monthly'] } })).status).toBe(201)
  }
})
afterAll(() => api.stop())

const newUser = (environment: 'prod' | 'sandbox' = 'sandbox') => v3User(v3, environment)
const buy = (user: string, body: object, options: object = {}) => v3('POST', `/v3/users/${user}/purchases`, { body, ...options })
const paid = { price: '5.01', currency: 'eur' }
const apple = (transaction_id = unique('t')) => ({ app_store_data: { transaction_id, product_id: 'm' } })
const recorded = async (user: string) =>
  (
    await api.pool.query<{ id: string; price: string; currency: string; at: number }>(
      'select id::text, price, currency, extract(epoch from purchased_at)::bigint as at from purchases where user_id = $1 order by id',
      [user],
    )
  ).rows
describe('answer', () => {
  test.each([
    ['app_store_data', () => ({ transaction_id: unique('t'), product_id: 'm', original_transaction_id: unique('o') })],
    ['play_store_data', () => ({ purchase_token: unique('p'), product_id: 'm', order_id: unique('o'), base_plan_id: 'b' })],
    ['stripe_store_data', () => ({ subscription_id: unique('s'), product_id: 'm' })],
    ['paddle_store_data', () => ({ transaction_id: unique('t'), product_id: 'm', type: 'subscription', subscription_id: unique('s') })],
  ])('repeats %s as it was sent, without what is unknown', async (name, make) => {
    const user = await newUser()
    const data = make()
    const sent = { ...paid, purchased: 1_772_355_678, [name]: { ...data, more: 1, none: null }, more: { deep: null } }
    const answer = await buy(user, sent)
    const shown = { user_id: user, currency: 'EUR', price: '5.01', purchased: 1_772_355_000, [name]: data }
    expect([answer.status, answer.body]).toEqual([201, shown])
    expect(await recorded(user)).toMatchObject([{ price: '5.01', currency: 'EUR', at: 1_772_355_678 }])
    const again = await buy(user, sent)
    expect([again.status, again.text]).toEqual([201, answer.text])
    expect(await recorded(user)).toHaveLength(1)
  })

  test('without a time, and for one of the future, it is now; the answer says 0, or what was sent', async () => {
    const far = Math.floor(Date.now() / 1000) + 86_400
    const least = Math.floor(Date.now() / 1000) - 1
    for (const [purchased, shown] of [
      [undefined, 0],
      [null, 0],
      [0, 0],
      [999, 0],
      [far, far - (far % 1000)],
      [1e15, 1e15],
    ] as const) {
      const user = await newUser()
      expect((await buy(user, { ...paid, ...apple(), purchased })).body.purchased).toBe(shown)
      const { at } = (await recorded(user))[0]!
      if (purchased === 0 || purchased === 999) expect(at).toBe(purchased)
      else expect(at).toSatisfy((time: number) => time >= least && time <= least + 60)
    }
  })

  test('access, the events and the audit log follow', async () => {
    const user = await newUser()
    expect((await buy(user, { ...paid, ...apple() })).status).toBe(201)
    const { data } = (await v3('GET', `/v3/users/${user}/entitlements`)).body
    expect(data).toMatchObject([{ id: 'premium', active: true, source: 'appstore', product: { product_id: 'monthly' } }])
    const names = await api.pool.query('select name from events where user_id = $1', [user])
    expect(names.rows).toEqual([{ name: 'subscription_started' }])
    const entry = await api.pool.query(`select actor_kind, operation from audit_log where user_id = $1 and resource = 'purchase'`, [user])
    expect(entry.rows).toEqual([{ actor_kind: 'project_key', operation: 'v3CreatePurchase' }])
  })

  test('twelve devices with one transaction at a time: one purchase', async () => {
    const user = await newUser()
    const sent = { ...paid, ...apple() }
    const answers = await Promise.all(Array.from({ length: 12 }, () => buy(user, sent)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]!.status).toBe(201)
    expect(await recorded(user)).toHaveLength(1)
    expect((await api.pool.query('select 1 from events where user_id = $1', [user])).rowCount).toBe(1)
  })
})

describe('on the word of the app alone', () => {
  const FRAUD = "Couldn't validate purchase with store request, potential fraud"
  const refused = () => [422, v3Error(api, 'logical', 'purchase_fraud', FRAUD)]

  test('a Project Key records in the sandbox only, a Secret Key everywhere', async () => {
    const [inSandbox, inProduction] = [await newUser(), await newUser('prod')]
    expect((await buy(inSandbox, { ...paid, ...apple() })).status).toBe(201)
    // Whichever prefix the key has: the user's environment counts.
    for (const key of [api.project.projectKey, `test_${api.project.projectKey}`]) {
      const answer = await buy(inProduction, { ...paid, ...apple() }, { key })
      expect([answer.status, answer.body]).toEqual(refused())
    }
    expect(await recorded(inProduction)).toEqual([])
    expect((await buy(inProduction, { ...paid, ...apple() }, { key: api.project.secret })).status).toBe(201)
  })

  test.each([
    ['all', 'prod', 201],
    ['none', 'sandbox', 422],
  ] as const)('UNVERIFIED_PURCHASES=%s', async (unverifiedPurchases, environment, status) => {
    const other = await startApi({ unverifiedPurchases })
    try {
      await product(other, { id: 'monthly', apple_product_id: 'm' }, environment === 'prod' ? other.project.secret : other.project.sandbox)
      const call = v3Client(other)
      await call('POST', '/v3/users/u', { body: { environment } })
      for (const key of [other.project.projectKey, other.project.secret])
        expect((await call('POST', '/v3/users/u/purchases', { key, body: { ...paid, ...apple() } })).status).toBe(status)
    } finally {
      await other.stop()
    }
  })
})

describe('a transaction of another user', () => {
  const policy = (name: string) => api.pool.query('update projects set transfer_policy = $2 where id = $1', [api.project.id, name])
  afterAll(() => policy('keep'))
  const access = async (user: string) =>
    (await v3('GET', `/v3/users/${user}/entitlements`)).body.data.filter(({ active }: { active: boolean }) => active).length

  test.each([
    ['keep', 422, [1, 0]],
    ['transfer', 201, [0, 1]],
    ['share', 201, [1, 1]],
  ] as const)('under the policy %s', async (name, status, holders) => {
    await policy(name)
    const [ann, ben] = [await newUser(), await newUser()]
    const sent = { ...paid, ...apple() }
    expect((await buy(ann, sent)).status).toBe(201)
    for (let i = 0; i < 2; i++) {
      const answer = await buy(ben, sent)
      expect(answer.status).toBe(status)
      if (status === 422) expect(answer.body.error).toEqual({ type: 'resource', code: 'already_exists', message: expect.any(String) })
      else expect(answer.body.user_id).toBe(ben)
    }
    expect([await access(ann), await access(ben)]).toEqual(holders)
  })

  test.each(['keep', 'transfer', 'share'])('two users who claim it at a time, under the policy %s: it is recorded once', async name => {
    await policy(name)
    const users = [await newUser(), await newUser()]
    const sent = { ...paid, ...apple() }
    const answers = await Promise.all(users.map(user => buy(user, sent)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual(name === 'keep' ? [201, 422] : [201, 201])
    const rows = await api.pool.query('select count(*)::int as n from purchases where transaction_id = $1', [
      sent.app_store_data.transaction_id,
    ])
    expect(rows.rows).toEqual([{ n: 1 }])
    const holders = (await Promise.all(users.map(access))).reduce((a, b) => a + b)
    expect(holders).toBe(name === 'share' ? 2 : 1)
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'g', google_base_plan_id: 'base' })
  await product(api, { id: 'lifetime', type: 'lifetime', duration: null, apple_product_id: 'life' })
  for (const [id, product_ids] of [
    ['pro', ['monthly', 'lifetime']],
    ['gift', []],
    ['Zeta', []],
  ] as const)
    await api.call('POST', '/v4/entitlements', { body: { id, product_ids } })
})
afterAll(() => api.stop())

const list = async (user: string) => (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data
const grant = (user: string, entitlement_id: string, expires_at?: number) =>
  api.call('POST', `/v4/users/${user}/entitlements`, { body: { entitlement_id, expires_at } })
const revoke = (user: string, id: string) => api.call('DELETE', `/v4/users/${user}/entitlements/${id}`)
const day = (n: number) => `${new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 19)}Z`
const unix = (n: number) => Math.floor(Date.now() / 1000) + n * 86_400
let n = 0
const apple = (product_id: string) => ({ app_store_data: { transaction_id: `e${++n}`, product_id } })
const buy = (user: string, given: object) => purchaseOf(api, user, { purchased_at: day(-1), ...apple('m'), ...given })

describe('a manual grant', () => {
  test('has every field, without product, and is listed by id in code point order', async () => {
    const user = await userOf(api)
    const until = unix(3)
    const made = await grant(user, 'gift', until)
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(made.body.url)
    expect(made.body).toEqual({
      object: 'user_entitlement',
      id: 'gift',
      url: `/v4/users/${user}/entitlements/gift`,
      is_active: true,
      source: 'manual',
      started_at: expect.any(String),
      expires_at: new Date(until * 1000).toISOString().replace('.000', ''),
    })
    await grant(user, 'Zeta')
    expect((await list(user)).map((entitlement: { id: string }) => entitlement.id)).toEqual(['Zeta', 'gift'])
  })

  test('gets the end of a repeat, earlier or later, and keeps its start', async () => {
    const user = await userOf(api)
    const first = await grant(user, 'gift', unix(3))
    expect((await grant(user, 'gift', unix(1))).body.expires_at < first.body.expires_at).toBe(true)
    const last = await grant(user, 'gift')
    expect(last.body).toMatchObject({ started_at: first.body.started_at, expires_at: null })
  })

  test.each([
    [{ entitlement_id: 'gift', expires_at: 1 }, 'expires_at'],
    [{ entitlement_id: 'gift', expires_at: null }, 'expires_at'],
    [{ entitlement_id: 'gift', expires_at: 253_402_300_800 }, 'expires_at'],
    [{}, 'entitlement_id'],
  ])('400 on its field: %j', async (body, field) => {
    const answer = await api.call('POST', `/v4/users/${await userOf(api)}/entitlements`, { body })
    expect(answer.body.error.details[0].field).toBe(field)
  })

  test('is 404 for an unknown user or definition, and so is revoking an inactive one', async () => {
    const user = await userOf(api)
    for (const answer of [await grant('QON_nobody', 'gift'), await grant(user, 'nothing'), await revoke(user, 'gift')])
      expect(answer.body.error.code).toBe('not_found')
    await grant(user, 'gift')
    expect((await revoke(user, 'gift')).status).toBe(204)
    expect((await revoke(user, 'gift')).status).toBe(404)
    expect(await list(user)).toEqual([])
  })

  test('of 50 concurrent grants and revocations each succeeds or is refused, and the list has the result of the last one', async () => {
    const user = await userOf(api)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? revoke(user, 'gift') : grant(user, 'gift', unix(i + 1)))),
    )
    expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([201, 204, 404]))
    const left = (await list(user)).length
    const { rows } = await api.pool.query<{ operation: string }>(
      `select operation from audit_log where user_id = $1 and resource = 'user_entitlement' order by created_at, id`,
      [user],
    )
    const done = (operation: string) => rows.filter(row => row.operation === operation).length
    expect(done('v4GrantUserEntitlement')).toBe(25)
    expect(done('v4RevokeUserEntitlement')).toBe(answers.filter(answer => answer.status === 204).length)
    expect([0, 1]).toContain(left)
  })
})

describe('a purchase', () => {
  test('gives the entitlements that list its product, by the present links', async () => {
    const user = await userOf(api)
    const play_store_data = { purchase_token: `token-${'x'.repeat(9_000)}`, product_id: 'g', base_plan_id: 'base' }
    const { app_store_data, ...base } = { ...apple('m'), purchased_at: day(-1) }
    expect(app_store_data).toBeDefined()
    expect((await purchaseOf(api, user, { ...base, play_store_data })).body.product_id).toBe('g:base')
    expect(await list(user)).toMatchObject([
      {
        id: 'pro',
        source: 'playstore',
        product: { product_id: 'monthly', subscription: { renew_state: 'will_renew', current_period_type: 'normal' } },
      },
    ])
    await api.call('PATCH', '/v4/entitlements/gift', { body: { product_ids: ['monthly'] } })
    expect((await list(user)).map((entitlement: { id: string }) => entitlement.id)).toEqual(['gift', 'pro'])
    await api.call('PATCH', '/v4/entitlements/gift', { body: { product_ids: [] } })
    expect((await list(user)).map((entitlement: { id: string }) => entitlement.id)).toEqual(['pro'])
  })

  test('of a one-time product never ends and has no subscription; of several contributions the last to end is shown', async () => {
    const user = await userOf(api)
    await buy(user, {})
    await buy(user, apple('life'))
    expect(await list(user)).toMatchObject([{ is_active: true, expires_at: null, product: { product_id: 'lifetime' } }])
    expect((await list(user))[0].product).not.toHaveProperty('subscription')
  })

  test('refuses a grant beside it and its revocation; an earlier grant can be revoked', async () => {
    const user = await userOf(api)
    await grant(user, 'pro')
    const made = await buy(user, {})
    expect((await grant(user, 'pro')).body.error).toMatchObject({ type: 'logical', code: 'paid_entitlement' })
    expect((await revoke(user, 'pro')).status).toBe(204)
    expect((await revoke(user, 'pro')).body.error.code).toBe('paid_entitlement')
    expect(await list(user)).toMatchObject([{ is_active: true, source: 'appstore' }])
    await api.call('PATCH', made.body.url, { body: { refunded_at: day(0) } })
    expect(await list(user)).toMatchObject([{ is_active: false, source: 'appstore' }])
    expect((await grant(user, 'pro')).status).toBe(201)
    expect(await list(user)).toMatchObject([{ is_active: true, source: 'manual' }])
  })

  test('that is shared by a family gives access and counts nowhere', async () => {
    const user = await userOf(api)
    await buy(user, { is_family_shared: true, price: '0', period_type: 'normal' })
    expect(await list(user)).toMatchObject([{ is_active: true }])
    const { rows } = await api.pool.query('select name from events where user_id = $1', [user])
    expect(rows).toEqual([])
  })
})

describe('a lineage that another user restores', () => {
  const policy = (name: string) => api.pool.query('update projects set transfer_policy = $2 where id = $1', [api.project.id, name])

  test('moves with everything under transfer', async () => {
    await policy('transfer')
    const [ann, ben] = [await userOf(api), await userOf(api)]
    const data = apple('m')
    await buy(ann, data)
    const moved = await buy(ben, data)
    expect(moved.status).toBe(201)
    expect(moved.body.user_id).toBe(ben)
    expect(await list(ann)).toEqual([])
    expect(await list(ben)).toMatchObject([{ is_active: true }])
    const { rows } = await api.pool.query('select id, status, payments_count from users where id = any($1) order by status', [[ann, ben]])
    expect(rows).toEqual([
      { id: ben, status: 'active', payments_count: 1 },
      { id: ann, status: 'none', payments_count: 0 },
    ])
    await policy('keep')
  })

  test('stays and gives access to both under share; only the owner may change it', async () => {
    await policy('share')
    const [ann, ben] = [await userOf(api), await userOf(api)]
    const data = apple('m')
    const own = await buy(ann, data)
    const shared = await buy(ben, data)
    expect(shared.body).toEqual(own.body)
    expect((await buy(ben, data)).body.error.code).toBe('already_exists')
    for (const user of [ann, ben]) {
      expect(await list(user)).toMatchObject([{ is_active: true }])
      expect((await api.call('GET', `/v4/users/${user}/purchases`)).body.data).toMatchObject([{ id: own.body.id, user_id: ann }])
    }
    const path = `/v4/users/${ben}/purchases/${own.body.id}`
    expect((await api.call('PATCH', path, { body: { is_auto_renewing: false } })).body.error.code).toBe('conflict')
    await policy('keep')
  })
})

describe('permissions of a customer', () => {
  test('are the same entitlements under other names', async () => {
    const user = await userOf(api)
    const path = `/v4/customers/${user}/permissions`
    const expires_at = day(5)
    expect((await api.call('POST', path, { body: { permission_id: 'gift', expires_at } })).body).toEqual({
      object: 'customer_permission',
      url: `${path}/gift`,
      permission_id: 'gift',
      expires_at,
    })
    await buy(user, {})
    const { body } = await api.call('GET', path)
    expect(body).toMatchObject({ object: 'list', url: path, has_more: false })
    expect(body.data).toEqual([
      {
        id: 'gift',
        source: 'manual',
        active: true,
        started_at: expect.any(Number),
        expires_at: Date.parse(expires_at) / 1000,
        product_id: null,
      },
      { id: 'pro', source: 'apple', active: true, started_at: expect.any(Number), expires_at: expect.any(Number), product_id: 'monthly' },
    ])
    expect((await api.call('POST', path, { body: { permission_id: 'gift', expires_at: day(-1) } })).body.error.details[0].field).toBe(
      'expires_at',
    )
    expect((await api.call('DELETE', `${path}/pro`)).body.error.code).toBe('paid_entitlement')
    expect((await api.call('DELETE', `${path}/gift`)).status).toBe(204)
    expect((await api.call('DELETE', `${path}/gift`)).status).toBe(404)
  })
})

describe('access that is given back', () => {
  const path = (user: string) => `/v4/customers/${user}/permissions`
  const give = (user: string, body: object) => api.call('POST', path(user), { body: { permission_id: 'gift', ...body } })
  const startOf = async (user: string) => (await api.call('GET', path(user))).body.data[0]

  test('keeps its beginning when the request names it', async () => {
    const user = await userOf(api)
    const since = day(-30)
    expect((await give(user, { started_at: since, expires_at: day(30) })).status).toBe(201)
    const { started_at, expires_at } = await startOf(user)
    expect(new Date(started_at * 1000).toISOString().slice(0, 19)).toBe(since.slice(0, 19))
    expect((await api.call('DELETE', `${path(user)}/gift`)).status).toBe(204)
    await give(user, { started_at: new Date(started_at * 1000).toISOString(), expires_at: new Date(expires_at * 1000).toISOString() })
    expect(await startOf(user)).toEqual({ id: 'gift', source: 'manual', active: true, started_at, expires_at, product_id: null })
  })

  test('an active grant keeps its beginning, one that ended does not', async () => {
    const user = await userOf(api)
    await give(user, { started_at: day(-2), expires_at: day(1) })
    const first = (await startOf(user)).started_at
    await give(user, { started_at: day(-9) })
    expect(await startOf(user)).toMatchObject({ started_at: first, expires_at: null })
    await api.pool.query('update grants set expires_at = $2 where user_id = $1', [user, day(-1)])
    await give(user, { started_at: day(-5) })
    expect(Math.abs((await startOf(user)).started_at - unix(-5))).toBeLessThan(60)
    await api.pool.query('update grants set expires_at = $2 where user_id = $1', [user, day(-1)])
    await give(user, {})
    expect(Math.abs((await startOf(user)).started_at - unix(0))).toBeLessThan(60)
  })

  test('a beginning that is still to come is refused', async () => {
    const user = await userOf(api)
    for (const started_at of [day(1), 'yesterday', null, 5]) {
      const { status, body } = await give(user, { started_at })
      expect([status, body.error.details[0].field]).toEqual([400, 'started_at'])
    }
    expect((await api.call('GET', path(user))).body.data).toEqual([])
  })
})

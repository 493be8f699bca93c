// Purchases of apps that a connected store confirms or denies.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTH_MS, MONTHLY } from '../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { openShop, STORES, type StoreName, sell } from '../harness/stores/sale.ts'
import { type V3Answer, type V3Options, v3Client, v3Error, v3User } from '../harness/v3.ts'

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const HOUR_MS = 3_600_000
const v3 = (method: string, path: string, options: V3Options = {}): Promise<V3Answer> =>
  v3Client(stores.api)(method, path, { key: stores.project.projectKey, ...options })
const newUser = (environment: 'prod' | 'sandbox' = 'prod') => v3User(v3, environment)
const paid = { price: '19.99', currency: 'EUR' }
const buy = (user: string, body: object, options: V3Options = {}) =>
  v3('POST', `/v3/users/${user}/purchases`, { body: { ...paid, ...body }, ...options })
const accessOf = async (user: string) =>
  (await v3('GET', `/v3/users/${user}/entitlements`)).body.data as { id: string; active: boolean; source: string; expires?: number }[]
const FRAUD = "Couldn't validate purchase with store request, potential fraud"
const fraud = () => [422, v3Error(stores.api, 'logical', 'purchase_fraud', FRAUD)]
const unreachable = () => [502, v3Error(stores.api, 'internal', 'network_error', 'Store is not reachable')]
const answered = ({ status, body }: V3Answer) => [status, body]

/** What the app says of a sale, in the fields of v3. */
const claimOf = (store: StoreName, kind: 'production' | 'sandbox' = 'production') => {
  const { claim } = sell(stores, store, kind)
  return Object.fromEntries(Object.entries(claim).filter(([name]) => name.endsWith('_store_data')))
}

describe.each(STORES)('%s', store => {
  test('what the store confirms is recorded with its values, once, however often and by whichever key it is sent', async () => {
    await openShop(stores, store)
    const [user, claim] = [await newUser(), claimOf(store)]
    const first = await buy(user, claim)
    expect(answered(first)).toEqual([201, { user_id: user, ...paid, purchased: 0, ...claim }])
    for (const key of [stores.project.projectKey, stores.project.secret, `test_${stores.project.projectKey}`])
      expect((await buy(user, claim, { key })).text).toBe(first.text)
    const rows = await stores.purchases()
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ user })
    // The price of the store, not that of the app.
    expect(rows[0]!.price).not.toBe('19.99')
    expect(await accessOf(user)).toMatchObject([{ id: 'premium', active: true }])
    expect((await stores.events()).filter(name => name === 'subscription_started')).toHaveLength(1)
  })

  test('what it does not know, or knows for another product, is refused, and nothing is recorded', async () => {
    await openShop(stores, store)
    const [user, claim] = [await newUser(), claimOf(store)]
    const [name, data] = Object.entries(claim)[0] as [string, Record<string, string>]
    const unknown = Object.fromEntries(
      Object.entries(data).map(([field, value]) => [field, /product|plan|type/.test(field) ? value : `${value}0`]),
    )
    expect(answered(await buy(user, { [name]: unknown }))).toEqual(fraud())
    if (data.product_id) {
      const link = { apple: 'apple_product_id', google: 'google_product_id', stripe: 'stripe_product_id', paddle: 'paddle_product_id' }[
        store
      ]
      await stores.good('POST', '/v4/products', { id: 'other', type: 'subscription', duration: 'P1M', [link]: 'other' })
      expect(answered(await buy(user, { [name]: { ...data, product_id: 'other' } }))).toEqual(fraud())
    }
    expect(await stores.purchases()).toEqual([])
    expect(await accessOf(user)).toEqual([])
  })

  test('a product that no product links is recorded on the word of the store, and gives access once one does', async () => {
    await openShop(stores, store)
    await stores.api.pool.query('delete from entitlement_products where environment = $1', [stores.project.production])
    await stores.api.pool.query('delete from products where environment = $1', [stores.project.production])
    const [user, claim] = [await newUser(), claimOf(store)]
    expect((await buy(user, claim)).status).toBe(201)
    expect((await buy(user, claim)).status).toBe(201)
    expect(await stores.purchases()).toMatchObject([{ user }])
    const names = await stores.api.pool.query(`select name from events where user_id = $1 and name = 'unmapped_product'`, [user])
    expect(names.rowCount).toBe(1)
    expect(await accessOf(user)).toEqual([])
    const { store_product_id: sold } = (await stores.api.pool.query('select store_product_id from purchases where user_id = $1', [user]))
      .rows[0]
    const link = { apple: 'apple_product_id', google: 'google_product_id', stripe: 'stripe_product_id', paddle: 'paddle_product_id' }[store]
    await stores.good('POST', '/v4/products', { id: 'late', type: 'subscription', duration: 'P1M', [link]: sold })
    await stores.good('POST', '/v4/entitlements', { id: 'late', product_ids: ['late'] })
    expect(await accessOf(user)).toMatchObject([{ id: 'late', active: true }])
  })

  test('while the store cannot be reached nothing is recorded, and the app is told to come back, also with a product that none links', async () => {
    await openShop(stores, store)
    const [user, claim] = [await newUser(), claimOf(store)]
    const [name, data] = Object.entries(claim)[0] as [string, Record<string, string>]
    const down = { status: 500, body: {} }
    stores.apple.override = () => down
    stores.google.instead = () => down
    stores.stripe.instead = () => down
    stores.paddle.instead = () => down
    // A signature of Apple suffices where Apple does not answer.
    if (store !== 'apple') {
      expect(answered(await buy(user, claim))).toEqual(unreachable())
      expect(answered(await buy(user, { [name]: { ...data, product_id: 'linked-by-none' } }))).toEqual(unreachable())
      expect(await stores.purchases()).toEqual([])
    } else {
      expect(answered(await buy(user, { app_store_data: { transaction_id: '1', product_id: MONTHLY } }))).toEqual(unreachable())
      expect(await stores.purchases()).toEqual([])
      expect((await buy(user, claim)).status).toBe(201)
    }
  })
})

test("Apple's signature is enough where the project cannot ask Apple; another app's, and the word of the app, are not", async () => {
  await openShop(stores, 'apple')
  await stores.api.pool.query(`update store_configs set secrets = '{}' where project = $1`, [stores.project.id])
  const [user, { app_store_data: signed }] = [await newUser(), claimOf('apple')]
  expect((await buy(user, { app_store_data: signed })).status).toBe(201)
  expect(await stores.purchases()).toMatchObject([{ user, product: MONTHLY }])
  expect(answered(await buy(user, { app_store_data: { transaction_id: '77', product_id: MONTHLY } }))).toEqual(fraud())
  const forged = `${(signed as { signed_transaction: string }).signed_transaction.slice(0, -4)}AAAA`
  expect(answered(await buy(user, { app_store_data: { signed_transaction: forged } }))).toEqual(fraud())
  expect(await stores.purchases()).toHaveLength(1)
})

describe('a purchase of the sandbox of Apple, claimed by a user of production', () => {
  const sandboxed = (at = Date.now() - HOUR_MS) => {
    const subscription = appleSubscription(stores.chain, { environment: 'Sandbox' })
    subscription.subscribe(at)
    stores.apple.sandbox.lineages.push({ ...subscription.state, group: subscription.lineage })
    return {
      signed: { app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) } },
      byId: { app_store_data: { transaction_id: subscription.last().transactionId as string, product_id: MONTHLY } },
    }
  }
  const counted = async () => {
    const text = await (await fetch(`${stores.api.url}/metrics`)).text()
    return Number(/^perennial_store_sandbox_in_production_total (\d+)$/m.exec(text)![1])
  }
  const nothingElse = async (user: string) => {
    for (const table of ['purchases', 'events', 'lineages', 'subscriptions'])
      expect((await stores.api.pool.query(`select 1 from ${table} where user_id = $1`, [user])).rowCount, table).toBe(0)
  }
  const activeUntil = async (user: string) => (await accessOf(user)).flatMap(({ active, expires }) => (active ? [expires!] : []))

  test.each(['signed', 'byId'] as const)('%s: access for a day, once, and nothing else', async how => {
    await openShop(stores, 'apple')
    const [user, claim, before] = [await newUser(), sandboxed()[how], await counted()]
    const first = await buy(user, claim)
    expect(answered(first)).toEqual([201, { user_id: user, ...paid, purchased: 0, ...claim }])
    const access = await accessOf(user)
    expect(access).toEqual([{ id: 'premium', active: true, started: expect.any(Number), expires: expect.any(Number), source: 'manual' }])
    const hours = (access[0]!.expires! * 1000 - Date.now()) / HOUR_MS
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThanOrEqual(24)
    expect((await buy(user, claim)).text).toBe(first.text)
    // Another purchase of the sandbox prolongs nothing, and neither does one after the access was taken away.
    await buy(user, sandboxed()[how])
    expect(await accessOf(user)).toEqual(access)
    expect((await v3('DELETE', `/v3/users/${user}/entitlements/premium`, { key: stores.project.secret })).status).toBe(200)
    expect((await buy(user, claim)).status).toBe(201)
    expect(await activeUntil(user)).toEqual([])
    await nothingElse(user)
    expect(await counted()).toBe(before + 4)
    const { rows } = await stores.api.pool.query(
      `select operation, actor_kind from audit_log where user_id = $1 and operation = 'v3CreatePurchase'`,
      [user],
    )
    expect(rows).toEqual([{ operation: 'v3CreatePurchase', actor_kind: 'project_key' }])
  })

  test('after 30 days there is access again', async () => {
    await openShop(stores, 'apple')
    const [user, { signed }] = [await newUser(), sandboxed()]
    await buy(user, signed)
    await stores.api.pool.query(`update grants set expires_at = now() - interval '1 hour' where user_id = $1`, [user])
    const age = (days: number) =>
      stores.api.pool.query(`update sandbox_accesses set granted_at = now() - make_interval(days => $2) where user_id = $1`, [user, days])
    await age(29)
    await buy(user, signed)
    expect(await activeUntil(user)).toEqual([])
    await age(31)
    await buy(user, signed)
    expect(await activeUntil(user)).toHaveLength(1)
  })

  test('six requests at a time give access once', async () => {
    await openShop(stores, 'apple')
    const [user, { signed }] = [await newUser(), sandboxed()]
    const answers = await Promise.all(Array.from({ length: 6 }, () => buy(user, signed)))
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201))
    const { rowCount } = await stores.api.pool.query(`select 1 from audit_log where user_id = $1 and operation = 'v3CreatePurchase'`, [
      user,
    ])
    expect(rowCount).toBe(1)
  })

  test('what has lapsed gives nothing; the end of a short period counts', async () => {
    await openShop(stores, 'apple')
    const [lapsed, short] = [await newUser(), await newUser()]
    expect((await buy(lapsed, sandboxed(Date.now() - MONTH_MS - HOUR_MS).byId)).status).toBe(201)
    expect(await accessOf(lapsed)).toEqual([])
    expect((await buy(short, sandboxed(Date.now() - MONTH_MS + HOUR_MS).byId)).status).toBe(201)
    const [until] = await activeUntil(short)
    expect((until! * 1000 - Date.now()) / HOUR_MS).toBeCloseTo(1, 1)
  })

  test('an active grant and what the user has bought stay as they are', async () => {
    await openShop(stores, 'apple')
    const [granted, paying] = [await newUser(), await newUser()]
    const expires = Math.floor(Date.now() / 1000) + 600
    const body = { id: 'premium', expires }
    expect((await v3('POST', `/v3/users/${granted}/entitlements`, { key: stores.project.secret, body })).status).toBe(200)
    expect((await buy(granted, sandboxed().signed)).status).toBe(201)
    expect(await activeUntil(granted)).toEqual([expires])
    expect((await buy(paying, claimOf('apple'))).status).toBe(201)
    const before = await accessOf(paying)
    expect((await buy(paying, sandboxed().signed)).status).toBe(201)
    expect(await accessOf(paying)).toEqual(before)
  })

  test.each(['signed', 'byId'] as const)('%s: 422 where the project refuses it', async how => {
    await openShop(stores, 'apple')
    await stores.api.pool.query(`update projects set sandbox_access = 'refuse' where id = $1`, [stores.project.id])
    const user = await newUser()
    expect(answered(await buy(user, sandboxed()[how]))).toEqual(fraud())
    expect(await accessOf(user)).toEqual([])
  })

  test('the other way round, and in v4, it is always refused', async () => {
    await openShop(stores, 'apple')
    const [inSandbox, user] = [await newUser('sandbox'), await newUser()]
    expect(answered(await buy(inSandbox, claimOf('apple')))).toEqual(fraud())
    const answer = await stores.api.call('POST', `/v4/users/${user}/purchases`, { key: stores.project.secret, body: sandboxed().signed })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'purchase_fraud'])
    expect(await accessOf(user)).toEqual([])
  })

  test('Apple answers for production and not for its sandbox: the app is told to come back', async () => {
    await openShop(stores, 'apple')
    const user = await newUser()
    let requestCount = 0
    stores.apple.override = ({ path }) => (path.includes('/transactions/') && ++requestCount > 1 ? { status: 500, body: {} } : null)
    expect(answered(await buy(user, sandboxed().byId))).toEqual(unreachable())
    expect(await accessOf(user)).toEqual([])
  })
})

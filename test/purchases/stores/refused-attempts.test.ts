import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'
import { v3Client, v3User } from '../../harness/v3.ts'
import { android } from '../../sdk/android.ts'
import { newUid, sdkClient } from '../../sdk/client.ts'

// Every purchase and notification that is refused stands in the log once, with its reason, and without what would let a reader claim it.

const TOKEN = `token-that-nobody-may-read.${'x'.repeat(120)}`
const written: string[] = []
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores({ log: pino({ level: 'info' }, { write: line => void written.push(line) }) })
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** The lines of refusals that the work writes. */
async function refusalsOf(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  written.length = 0
  await work()
  expect(written.join('')).not.toContain('nobody-may-read')
  return written.map(line => JSON.parse(line)).filter(({ level, msg }) => level > 30 && / was refused$/.test(msg))
}

const google = { play_store_data: { purchase_token: TOKEN, product_id: 'pro', base_plan_id: 'monthly', order_id: 'GPA.1' } }
const shown = { store: 'play_store', ids: { product_id: 'pro', order_id: 'GPA.1' } }

test('a purchase that a server posts', async () => {
  await openShop(stores, 'google')
  const { id } = await stores.user()
  const body = { ...google, currency: 'EUR', price: '9.99', purchased_at: new Date().toISOString() }
  const key = stores.project.secret
  const path = `/v4/users/${id}/purchases`
  const refused = await refusalsOf(() => stores.api.call('POST', path, { key, body }))
  expect(refused).toMatchObject([
    { operation: 'v4CreatePurchase', environment: 'production', code: 'purchase_fraud', status: 422, ...shown },
  ])
  expect(refused[0]!.reason).toMatch(/\w+ \w+/)
  const malformed = await refusalsOf(() => stores.api.call('POST', path, { key, body: { ...body, price: 'much' } }))
  expect(malformed).toMatchObject([{ code: 'invalid_data', details: [{ field: 'price' }], ...shown }])
})

test('a purchase of an app, by v3 and by the mobile SDKs', async () => {
  await openShop(stores, 'google')
  const v3 = v3Client(stores.api)
  const key = stores.project.projectKey
  const user = await v3User((method, path, options) => v3(method, path, { key, ...options }), 'prod')
  const body = { ...google, price: '9.99', currency: 'EUR' }
  const ofV3 = await refusalsOf(() => v3('POST', `/v3/users/${user}/purchases`, { key, body }))
  expect(ofV3).toMatchObject([{ operation: 'v3CreatePurchase', environment: 'production', code: 'purchase_fraud', ...shown }])
  const phone = { key, uid: newUid() }
  await android(sdkClient(stores.api)).init(phone)
  const bought = { token: TOKEN, product: 'pro', time: Date.now() }
  const restored = await refusalsOf(() => android(sdkClient(stores.api)).restore(phone, [bought]))
  expect(restored).toMatchObject([{ operation: 'sdkRestorePurchases', project: stores.project.id, environment: 'production' }])
  // Ids of customers are not logged.
  expect(JSON.stringify(restored)).not.toContain(phone.uid)
  expect(restored[0]).toMatchObject({
    store: 'play_store',
    ids: { product_id: 'pro' },
    code: expect.any(Number),
    reason: expect.any(String),
  })
})

test('an app acts in the environment of its user, whatever its key is of', async () => {
  await openShop(stores, 'google')
  const key = stores.project.projectKey
  const v3 = v3Client(stores.api)
  const user = await v3User((method, path, options) => v3(method, path, { key, ...options }), 'sandbox')
  const ofV3 = await refusalsOf(() =>
    v3('POST', `/v3/users/${user}/purchases`, { key, body: { ...google, price: '9.99', currency: 'EUR' } }),
  )
  expect(ofV3).toMatchObject([{ operation: 'v3CreatePurchase', environment: 'sandbox', ...shown }])
  const bought = { token: TOKEN, order: 'GPA.1', product: 'pro' }
  const ofSdk = await refusalsOf(() => android(sdkClient(stores.api)).purchase({ key, uid: user }, bought))
  expect(ofSdk).toMatchObject([{ operation: 'sdkCreatePurchase', environment: 'sandbox', store: 'play_store' }])
})

test('a restore that the store does not answer names its purchases', async () => {
  await openShop(stores, 'google')
  const phone = { key: stores.project.projectKey, uid: newUid() }
  await android(sdkClient(stores.api)).init(phone)
  stores.google.instead = async () => ({ status: 503 })
  const restored = await refusalsOf(async () => {
    const { status } = await android(sdkClient(stores.api)).restore(phone, [{ token: TOKEN, product: 'pro', time: Date.now() }])
    expect(status).toBe(502)
  })
  expect(restored).toMatchObject([{ operation: 'sdkRestorePurchases', status: 502, store: 'play_store', ids: { product_id: 'pro' } }])
})

test('a notification that was accepted and is set aside', async () => {
  await stores.connectApple({ isConnected: false })
  written.length = 0
  expect(await stores.pushApple(appleSubscription(stores.chain).subscribe(Date.now() - 60_000, { currency: 'XXQ' }))).toBe(200)
  await stores.settled()
  const { rows } = await stores.api.pool.query('select id::int from store_inbox where project = $1', [stores.project.id])
  const lines = written.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'a notification of a store was set aside')
  expect(lines).toMatchObject([
    {
      level: 40,
      project: stores.project.id,
      store: 'apple',
      notification: rows[0].id,
      reason: expect.stringMatching(/currency .*xxq/i),
    },
  ])
})

test('a notification whose signature does not hold', async () => {
  await stores.connectStripe()
  const { id } = stores.project
  const post = () =>
    fetch(`${stores.api.url}/stores/stripe/${id}`, {
      method: 'POST',
      headers: { 'stripe-signature': `t=1,v1=${TOKEN}` },
      body: JSON.stringify({ id: 'evt_1' }),
    })
  const refused = await refusalsOf(post)
  expect(refused).toMatchObject([{ operation: 'storeNotification', store: 'stripe', ids: { project: String(id) }, status: 401 }])
  expect(refused[0]).toMatchObject({ code: 'control_unauthorized', reason: 'the signature of the notification does not hold' })
})

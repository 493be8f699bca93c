import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { product } from '../../harness/purchases.ts'
import { appleChain } from '../../harness/stores/apple-chain.ts'
import { appleJws, appleNotification, type Json } from '../../harness/stores/apple-jws.ts'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { pushBody } from '../../harness/stores/google.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddlePush, paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'
import { WALKED_PRODUCT } from '../../harness/stores/walked-stores.ts'

// What a store says and what cannot be right, or what Postgres cannot take: it is set aside at once, with a reason, and entitles to nothing.

const FAR = Date.parse('9999-12-31T23:59:59Z')
const NUL = 'pro\u0000'
const HALF = 'pro\ud800'

let stores: ReachedStores
let user: { id: string; account: string }
let now: number
beforeAll(async () => {
  stores = await startStores()
  // The first notification loads Apple's library: on a busy machine for longer than an answer may take.
  await stores.connectApple({ isConnected: false })
  await stores.pushApple(appleSubscription(stores.chain).subscribe(Date.now() - 60_000))
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  user = await stores.user()
  await product(stores.api, WALKED_PRODUCT, stores.project.secret)
  await stores.good('POST', '/v4/entitlements', { id: 'pro', product_ids: ['monthly'] })
  now = Date.now() - 60_000
  stores.apple.now = null
})

async function expectSetAside(status: number, reason: RegExp): Promise<void> {
  expect(status).toBe(200)
  await stores.settled()
  expect(await stores.rows()).toEqual([expect.stringMatching(/^set_aside 1: /)])
  expect((await stores.rows())[0]).toMatch(reason)
  expect(await stores.purchases()).toEqual([])
  const { data } = (await stores.good('GET', `/v4/users/${user.id}/entitlements`)) as { data: { is_active: boolean }[] }
  expect(data.filter(one => one.is_active)).toEqual([])
}

const CURRENCY = /currency .*xxq/i
const AHEAD = /ends lies more than ten years ahead/
const PRODUCT_NUL = /the product contains a NUL character/
const PRODUCT_HALF = /the product contains half of a surrogate pair/

describe('the App Store', () => {
  const subscribed = async (changes: Json): Promise<number> => {
    await stores.connectApple({ isConnected: false })
    return stores.pushApple(appleSubscription(stores.chain, { account: user.account }).subscribe(now, changes))
  }
  test.each<[string, Json, RegExp]>([
    ['a currency that nobody knows', { currency: 'XXQ' }, CURRENCY],
    ['an end in the year 9999', { expiresDate: FAR }, AHEAD],
    ['an end after the last year that has four digits', { expiresDate: FAR + 86_400_000 }, AHEAD],
    ['an end that no date reaches', { expiresDate: 9e15 }, /a signed time is none/],
    [
      'a type that nobody knows',
      { type: 'Lifetime Subscription' },
      /the type "Lifetime Subscription" of a signed transaction is not known/,
    ],
    ['an auto-renewable subscription without an end', { expiresDate: undefined }, /a signed subscription has no expiresDate/],
    ['a NUL in the product', { productId: NUL }, PRODUCT_NUL],
    ['half of a surrogate pair in the product', { productId: HALF }, PRODUCT_HALF],
  ])('%s', async (_, changes, reason) => expectSetAside(await subscribed(changes), reason))

  test('a transaction that somebody else has signed: the reason says what was read, and why it is refused', async () => {
    await stores.connectApple({ isConnected: false })
    const subscription = appleSubscription(stores.chain)
    subscription.subscribe(now)
    const signedTransactionInfo = appleJws(appleChain(), { ...subscription.last(), signedDate: now })
    expect(await stores.pushApple(appleNotification(stores.chain, { type: 'DID_RENEW', at: now, data: { signedTransactionInfo } }))).toBe(
      200,
    )
    await stores.settled()
    expect((await stores.rows())[0]).toMatch(/^pending 1: the signed transaction has .+ \([A-Z_]+.*\)$/)
  })

  test('an answer that is not credible does not keep a notification that is; the queue shows why', async () => {
    await stores.connectApple()
    const subscription = appleSubscription(stores.chain, { account: user.account })
    subscription.subscribe(now - 40 * 86_400_000, { type: 'Lifetime Subscription' })
    const renewed = subscription.renew(now, { type: 'Auto-Renewable Subscription', purchaseDate: now, expiresDate: now + 30 * 86_400_000 })
    stores.apple.production.lineages.push(subscription.state)
    expect(await stores.pushApple(renewed)).toBe(200)
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await stores.purchases()).toHaveLength(1)
    expect((await stores.queues())[0]!.reason).toMatch(/^the answer of the store is not credible: the type "Lifetime Subscription"/)
  })

  test('a claim of a transaction that is not credible is refused', async () => {
    await stores.connectApple({ isConnected: false })
    const subscription = appleSubscription(stores.chain)
    subscription.subscribe(now, { type: 'Lifetime Subscription' })
    const app_store_data = { signed_transaction: subscription.signedTransaction(now) }
    const body = { currency: 'USD', price: '9.99', app_store_data }
    const reply = await stores.api.call('POST', `/v4/users/${user.id}/purchases`, { key: stores.project.secret, body })
    expect([reply.status, reply.body.error?.code]).toEqual([422, 'purchase_fraud'])
  })
})

describe('Google Play', () => {
  const story = (options = {}) => playStory(stores.google, { token: `token-${user.id}`, accountId: user.id, ...options })
  test.each<[string, object, RegExp]>([
    ['a currency that nobody knows', { currency: 'XXQ' }, CURRENCY],
    ['an end in the year 9999', { days: 2_900_000 }, AHEAD],
    ['a NUL in the product', { product: NUL }, PRODUCT_NUL],
    ['half of a surrogate pair in the product', { product: HALF }, PRODUCT_HALF],
    ['a NUL in the account', { accountId: 'some\u0000body' }, /the account contains a NUL character/],
  ])('%s', async (_, options, reason) => {
    await stores.connectGoogle()
    await expectSetAside(await stores.pushGoogle(story(options).subscribe(now).body), reason)
  })

  test('a subscription whose end nobody says gives no access', async () => {
    await stores.connectGoogle()
    const subscription = story()
    const push = subscription.subscribe(now)
    for (const line of subscription.answer().lineItems!) delete line.expiryTime
    for (const order of stores.google.orders.values())
      for (const line of order.lineItems!) delete line.subscriptionDetails!.servicePeriodEndTime
    expect(await stores.pushGoogle(push.body)).toBe(200)
    await stores.settled()
    expect(await stores.purchases()).toEqual([])
  })

  test('half of a surrogate pair in the token is refused', async () => {
    await stores.connectGoogle()
    const subscriptionNotification = { version: '1.0', notificationType: 4, purchaseToken: HALF }
    expect(await stores.pushGoogle(pushBody({ eventTimeMillis: String(now), subscriptionNotification }, 'm-1'))).toBe(400)
    expect(await stores.rows()).toEqual([])
  })
})

describe('Stripe', () => {
  test.each<[string, object, RegExp]>([
    ['a currency that nobody knows', { currency: 'xxq' }, CURRENCY],
    ['an end in the year 9999', { days: 2_900_000 }, AHEAD],
    ['a NUL in the product', { items: [{ id: 'si_1', product: NUL, amount: 1000 }] }, PRODUCT_NUL],
    ['half of a surrogate pair in the product', { items: [{ id: 'si_1', product: HALF, amount: 1000 }] }, PRODUCT_HALF],
  ])('%s', async (_, options, reason) => {
    await stores.connectStripe()
    const story = stripeStory(stores.stripe, { id: `sub_${user.id.slice(4)}`, userId: user.id, ...options })
    await expectSetAside(await stores.pushStripe(story.subscribe(now).body), reason)
  })
})

describe('Paddle', () => {
  test.each<[string, object, RegExp]>([
    ['a currency that nobody knows', { currency: 'XXQ' }, CURRENCY],
    ['an end in the year 9999', { days: 2_900_000 }, AHEAD],
    ['a NUL in the product', { items: [{ product: NUL, price: '1000' }] }, PRODUCT_NUL],
    ['half of a surrogate pair in the product', { items: [{ product: HALF, price: '1000' }] }, PRODUCT_HALF],
  ])('%s', async (_, options, reason) => {
    await stores.connectPaddle()
    const [push] = paddleStory(stores.paddle, { accountId: user.id, ...options }).subscribe(now)
    await expectSetAside(await stores.pushPaddle(push!.body), reason)
  })

  test.each(['id', 'subscription_id', 'transaction_id', 'customer_id'])('a number as %s is refused', async name => {
    await stores.connectPaddle()
    const push = paddlePush(stores.paddle, 'transaction.completed', now, { id: 'txn_1', [name]: 12345 })
    expect(await stores.pushPaddle(push.body)).toBe(400)
    expect(await stores.rows()).toEqual([])
  })

  test('a number as event_id is refused', async () => {
    await stores.connectPaddle()
    const event = { event_id: 1, event_type: 'subscription.created', occurred_at: new Date(now).toISOString(), data: { id: 'sub_1' } }
    expect(await stores.pushPaddle(Buffer.from(JSON.stringify(event)))).toBe(400)
  })
})

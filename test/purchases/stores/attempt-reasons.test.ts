import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleChain } from '../../harness/stores/apple-chain.ts'
import { appleSubscription, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop, STORES, type StoreName, sell } from '../../harness/stores/sale.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'

// Each reason for which a purchase is refused, by a real refusal of a server that posts it.

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const HOUR = 3_600_000
const stated = { currency: 'EUR', price: '9.99', purchased_at: new Date(Date.now() - HOUR).toISOString() }
type Claim = Record<string, unknown>

/** Claims a purchase for a new user, or the given one; gives the answer and what is listed of it then. */
async function refused(claim: Claim, { key = stores.project.secret, user }: { key?: string; user?: string } = {}) {
  const id = user ?? (await stores.user(key)).id
  const reply = await stores.api.call('POST', `/v4/users/${id}/purchases`, { key, body: claim })
  expect(reply.status, JSON.stringify(reply.body)).toBeGreaterThanOrEqual(400)
  const list = (await stores.good('GET', `/v4/users/${id}/purchase-attempts`, undefined, key)) as { data: Record<string, unknown>[] }
  const [latest] = list.data
  expect(latest, 'an attempt').toBeDefined()
  return { status: reply.status, error: reply.body.error as { code: string; message: string }, attempt: latest! }
}

const PLATFORM = { apple: 'app_store', google: 'play_store', stripe: 'stripe', paddle: 'paddle' } as const
const PADDLE_ID = '01hv8wptq8987qeep44cyrewp9'

/** A claim of what no store has sold, in the form of ids that the store makes. */
const unknown: Record<StoreName, Claim> = {
  apple: { app_store_data: { transaction_id: '2000000123456789', product_id: MONTHLY } },
  google: { play_store_data: { purchase_token: 'never-sold', product_id: 'pro', base_plan_id: 'monthly', order_id: 'GPA.1' } },
  stripe: { stripe_store_data: { subscription_id: 'sub_never', product_id: 'prod_pro' } },
  paddle: { paddle_store_data: { transaction_id: `txn_${PADDLE_ID}`, product_id: 'pro', type: 'non_recurring' } },
}
const names = { apple: '2000000123456789', google: 'GPA.1', stripe: 'sub_never', paddle: `txn_${PADDLE_ID}` }
const products = { apple: MONTHLY, google: 'pro', stripe: 'prod_pro', paddle: 'pro' }
const subscription = { expires_at: new Date(Date.now() + 24 * HOUR).toISOString() }

/** What the store says in the place of its own answer. */
function answerInstead(store: StoreName, reply: { status: number } | undefined): void {
  if (store === 'apple') stores.apple.override = () => reply ?? null
  else for (const server of store === 'paddle' ? [stores.paddle, stores.paddleSandbox] : [stores[store]]) server.instead = () => reply
}

describe.each(STORES)('%s', store => {
  test('does not know the transaction', async () => {
    await openShop(stores, store)
    if (store === 'paddle') await stores.good('POST', '/v4/products', { id: 'once', type: 'lifetime', paddle_product_id: 'single' })
    const claim =
      store === 'paddle' ? { paddle_store_data: { ...(unknown.paddle.paddle_store_data as object), product_id: 'single' } } : unknown[store]
    const { status, error, attempt } = await refused({ ...claim, ...stated })
    expect({ status, code: error.code }).toEqual({ status: 422, code: 'purchase_fraud' })
    expect(error.message).toBe('the store does not confirm the purchase: the store does not know the transaction')
    expect(attempt).toMatchObject({
      source: 'v4',
      platform: PLATFORM[store],
      product_id: store === 'paddle' ? 'single' : products[store],
      transaction_id: names[store],
      reason: 'store_says_no',
      store_answer: { code: expect.stringMatching(/^http_404/), message: expect.any(String) },
      times: 1,
    })
  })

  test('sold it in the other environment', async () => {
    await openShop(stores, store)
    for (const [kind, key] of [
      ['sandbox', stores.project.secret],
      ['production', stores.project.sandbox],
    ] as const) {
      const { error, attempt } = await refused(sell(stores, store, kind).claim as Claim, { key })
      // Paddle's one budget is kept for claims that may be right.
      const [reason, words] = store === 'paddle' ? ['store_says_no', 'does not know'] : ['other_environment', 'other environment']
      expect(error).toMatchObject({ code: 'purchase_fraud', message: expect.stringContaining(words) })
      expect(attempt).toMatchObject({ platform: PLATFORM[store], reason })
    }
  })

  test('gives no answer, and accepts no credentials', async () => {
    await openShop(stores, store)
    const claim = {
      ...(store === 'paddle' ? (sell(stores, store, 'production').claim as Claim) : unknown[store]),
      ...stated,
      ...subscription,
    }
    answerInstead(store, { status: 503 })
    const late = await refused(claim)
    expect(late).toMatchObject({ status: 502, error: { code: 'network_error' } })
    expect(late.attempt).toMatchObject({ reason: 'store_unreachable', store_answer: { code: 'http_503' } })
    answerInstead(store, { status: 401 })
    const denied = await refused(claim)
    expect(denied).toMatchObject({ status: 502, error: { code: 'network_error' } })
    expect(denied.attempt).toMatchObject({ reason: 'credentials_refused', store_answer: { code: expect.any(String), message: null } })
    answerInstead(store, undefined)
  })

  test('is connected, and no product links what it sold', async () => {
    await openShop(stores, store)
    await stores.api.pool.query('delete from entitlement_products where environment = $1', [stores.project.production])
    await stores.api.pool.query('delete from products where environment = $1', [stores.project.production])
    const { status, attempt } = await refused(sell(stores, store, 'production').claim as Claim)
    expect(status).toBe(400)
    expect(attempt).toMatchObject({ platform: PLATFORM[store], reason: 'product_not_linked', store_answer: null })
  })

  test('sold it to another user, or to this one', async () => {
    await openShop(stores, store)
    await stores.api.pool.query(`update projects set transfer_policy = 'keep' where id = $1`, [stores.project.id])
    const { claim } = sell(stores, store, 'production')
    const { id: owner } = await stores.user()
    await stores.good('POST', `/v4/users/${owner}/purchases`, claim)
    const other = await refused(claim as Claim)
    expect(other).toMatchObject({ status: 409, error: { code: 'conflict' }, attempt: { reason: 'belongs_to_other_user' } })
    // The attempt of the second user does not say who the first one is.
    expect(JSON.stringify(other)).not.toContain(owner)
    expect(await refused(claim as Claim, { user: owner })).toMatchObject({ status: 409, attempt: { reason: 'already_recorded' } })
  })

  test('gets a claim that is malformed', async () => {
    await openShop(stores, store)
    const malformed = await refused({ ...unknown[store], ...stated, price: 'much' })
    expect(malformed).toMatchObject({ status: 400, attempt: { platform: PLATFORM[store], reason: 'malformed', store_answer: null } })
    const none = await refused({ ...stated })
    expect(none.attempt).toMatchObject({ reason: 'malformed', platform: null, product_id: null, transaction_id: null })
  })
})

/** The claim of what the store has sold, with another product of its own. */
function withOtherProduct(store: StoreName): Claim {
  if (store === 'apple') {
    const apple = appleSubscription(stores.chain)
    apple.subscribe(Date.now() - HOUR)
    stores.apple.production.lineages.push({ ...apple.state, group: apple.lineage })
    return { app_store_data: { transaction_id: apple.lineage, product_id: 'other' }, ...stated }
  }
  const { claim } = sell(stores, store, 'production')
  const [[name, data]] = Object.entries(claim as Claim).filter(([name]) => name.endsWith('_store_data')) as [[string, object]]
  return { ...claim, [name]: { ...data, product_id: 'other' } }
}

test.each(STORES)('%s knows the transaction, with another product', async store => {
  await openShop(stores, store)
  const linked = { [`${store}_product_id`]: 'other', ...(store === 'google' && { google_base_plan_id: 'monthly' }) }
  await stores.good('POST', '/v4/products', { id: 'other', type: 'subscription', duration: 'P1M', ...linked })
  expect(await refused(withOtherProduct(store))).toMatchObject({
    status: 422,
    error: { code: 'purchase_fraud', message: expect.stringContaining('another product') },
    attempt: { platform: PLATFORM[store], reason: 'claim_differs', product_id: 'other', store_answer: null },
  })
})

test('a failure of the service: the row says so, its log has the error', async () => {
  await openShop(stores, 'stripe')
  await stores.api.pool.query(`
    create function fail() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
    create trigger broken before insert on purchases for each row execute function fail()`)
  try {
    const { status, error, attempt } = await refused(sell(stores, 'stripe', 'production').claim as Claim)
    expect([status, error.code, attempt.reason]).toEqual([500, 'unknown_error', 'service_failed'])
    expect(JSON.stringify(attempt)).not.toContain('broken')
  } finally {
    await stores.api.pool.query('drop function fail() cascade')
  }
})

test('the store knows it, and it is not paid', async () => {
  await openShop(stores, 'stripe')
  const story = stripeStory(stores.stripe, { id: 'sub_open' })
  story.subscribe(Date.now() - HOUR)
  stores.stripe.subscriptions.get('sub_open')!.status = 'incomplete'
  const ofStripe = await refused({ stripe_store_data: { subscription_id: 'sub_open', product_id: 'prod_pro' }, ...stated })
  expect(ofStripe.attempt).toMatchObject({ reason: 'not_paid', transaction_id: 'sub_open' })

  await stores.begin()
  await openShop(stores, 'google')
  playStory(stores.google, { token: 'open', order: 'GPA.2' }).subscribe(Date.now() - HOUR)
  stores.google.subscriptions.get('open')!.subscriptionState = 'SUBSCRIPTION_STATE_PENDING'
  const ofGoogle = await refused({ play_store_data: { purchase_token: 'open', product_id: 'pro', base_plan_id: 'monthly' }, ...stated })
  expect(ofGoogle.attempt).toMatchObject({
    reason: 'not_paid',
    transaction_id: null,
    token_digest: expect.stringMatching(/^[0-9a-f]{16}$/),
  })

  await stores.begin()
  await openShop(stores, 'paddle')
  const paddle = paddleStory(stores.paddle)
  paddle.subscribe(Date.now() - HOUR)
  stores.paddle.transactions.get(paddle.latest().id)!.status = 'ready'
  const claim = { transaction_id: paddle.latest().id, product_id: 'pro', type: 'subscription', subscription_id: paddle.id }
  const ofPaddle = await refused({ paddle_store_data: claim, ...stated })
  expect(ofPaddle.attempt).toMatchObject({ reason: 'not_paid', transaction_id: claim.transaction_id })
})

test('a signed transaction of nobody, of another app and of the other environment', async () => {
  await openShop(stores, 'apple')
  const apple = appleSubscription(stores.chain)
  apple.subscribe(Date.now() - HOUR)
  const stranger = appleSubscription(appleChain())
  stranger.subscribe(Date.now() - HOUR)
  const signed = (jws: string) => ({ app_store_data: { signed_transaction: jws } })
  const forged = stranger.signedTransaction(Date.now())
  const wrong = await refused(signed(forged))
  expect(wrong).toMatchObject({ status: 422, attempt: { reason: 'signature_invalid', transaction_id: null } })
  expect(wrong.attempt.token_digest).toMatch(/^[0-9a-f]{16}$/)
  expect(JSON.stringify(wrong.attempt)).not.toContain(forged.slice(0, 40))
  expect(await refused(signed(apple.signedTransaction(Date.now(), { bundleId: 'com.example.else' })))).toMatchObject({
    attempt: { reason: 'other_app' },
  })
  expect(await refused(signed(apple.signedTransaction(Date.now(), { environment: 'Sandbox' })))).toMatchObject({
    attempt: { reason: 'other_environment' },
  })
})

test('what the store states cannot be right', async () => {
  await openShop(stores, 'apple')
  const apple = appleSubscription(stores.chain)
  apple.subscribe(Date.now() - HOUR, { currency: 'XXQ' })
  stores.apple.production.lineages.push({ ...apple.state, group: apple.lineage })
  const claim = { app_store_data: { transaction_id: apple.lineage, product_id: MONTHLY }, ...stated }
  expect(await refused(claim)).toMatchObject({ status: 422, attempt: { reason: 'not_credible' } })
})

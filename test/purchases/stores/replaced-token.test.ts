import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { pushBody } from '../../harness/stores/google.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'

// Google tells the end of a token that another one has replaced, and often late.

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** A subscription of five days ago that another one has replaced just now; the push of its end is not sent yet. */
async function replaced() {
  await stores.connectGoogle()
  await stores.good('POST', '/v4/products', {
    id: 'plan',
    type: 'subscription',
    duration: 'P1M',
    google_product_id: 'max',
    google_base_plan_id: 'yearly',
  })
  await stores.good('POST', '/v4/entitlements', { id: 'premium', product_ids: ['plan'] })
  const { id } = await stores.user()
  const old = playStory(stores.google, { token: 'old', order: 'GPA.1', price: '10', accountId: id })
  const begun = old.subscribe(Date.now() - 5 * DAY)
  const replace = () => {
    const at = Date.now()
    const young = playStory(stores.google, {
      token: 'young',
      order: 'GPA.2',
      product: 'max',
      basePlan: 'yearly',
      price: '20',
      linkedToken: 'old',
    })
    const pushed = young.subscribe(at)
    young.answer().lineItems![0]!.itemReplacement = { productId: 'pro', basePlanId: 'monthly', replacementMode: 'CHARGE_FULL_PRICE' }
    const expired = old.replace(at)
    return { young, pushed, expired }
  }
  const push = async ({ body }: { body: Uint8Array | string }) => {
    expect(await stores.pushGoogle(body)).toBe(200)
    await stores.settled()
    await stores.hurry()
    await stores.settled()
  }
  const state = async () => {
    const { data } = await stores.good('GET', `/v4/users/${id}/entitlements`)
    return { purchases: await stores.purchases(), events: await stores.events(), entitlements: data }
  }
  const cancel = () => old.cancel(Date.now())
  const revoked = () => {
    const subscriptionNotification = { version: '1.0', notificationType: 12, purchaseToken: 'old' }
    return { body: pushBody({ eventTimeMillis: String(Date.now()), subscriptionNotification }, 'revoked') }
  }
  return { begun, replace, push, state, cancel, revoked }
}

test.each(['before', 'after'])('the EXPIRED push of the old token that comes %s that of the new one ends nothing', async order => {
  const { begun, replace, push, state } = await replaced()
  await push(begun)
  const { pushed, expired } = replace()
  await push(order === 'before' ? expired : pushed)
  const between = await state()
  await push(order === 'before' ? pushed : expired)
  const after = await state()
  if (order === 'after') expect(after).toEqual(between)
  expect(after.events).toEqual(['subscription_started', 'subscription_renewed', 'subscription_product_changed', 'subscription_upgraded'])
  expect(after.purchases).toMatchObject([{ product: 'pro' }, { product: 'max', renews: true, refunded: null }])
  expect(after.entitlements).toMatchObject([{ is_active: true, source: 'playstore' }])
  expect(await stores.rows()).toEqual(['done', 'done', 'done'])
})

test('a subscription that had been cancelled goes on with the new token: its end under the old one is not emitted', async () => {
  const { begun, replace, push, state, cancel } = await replaced()
  await push(begun)
  // Google's answers have the time of whole seconds.
  await sleep(1100)
  await push(cancel())
  await sleep(1100)
  const { pushed, expired } = replace()
  await push(expired)
  const before = (await state()).events
  expect(before).toEqual(['subscription_started', 'subscription_canceled', 'subscription_uncanceled'])
  await push(pushed)
  // The renewal is of the moment of the replacement, before or after the second in which Google was asked about the old token.
  const emitted = (await state()).events.filter(name => !before.includes(name))
  expect(emitted).toEqual(['subscription_renewed', 'subscription_product_changed', 'subscription_upgraded'])
})

test('a REVOKED push of the old token does not end the period of the new one', async () => {
  const { begun, replace, push, state, revoked } = await replaced()
  await push(begun)
  await push(replace().pushed)
  const { purchases, events, entitlements } = await state()
  await push(revoked())
  expect(await state()).toMatchObject({ purchases: [{}, purchases[1]], events, entitlements })
})

test('the EXPIRED push of the old token, once Google has forgotten the token, ends nothing', async () => {
  const { begun, replace, push, state } = await replaced()
  await push(begun)
  const { pushed, expired } = replace()
  await push(pushed)
  const before = await state()
  stores.google.subscriptions.delete('old')
  stores.google.gone.add('old')
  await push(expired)
  expect(await state()).toEqual(before)
  expect(before.entitlements).toMatchObject([{ is_active: true }])
})

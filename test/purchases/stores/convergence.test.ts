import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { product } from '../../harness/purchases.ts'
import { appleStory } from '../../harness/stores/apple-story.ts'
import { MONTH_MS, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'
import { expectOneOutcome, LIMIT_MS, ORDERS, order } from './one-outcome.ts'

// Whole stories through addresses, inbox, queues and database: notifications in random orders, some of them twice, with a claim somewhere between.
// Whatever the order, the same purchases, access and events follow.

const DAY = 86_400_000

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** The caller's own words are the weakest: what the store says counts. */
const reportedByCaller = (begin: number) => ({
  currency: 'EUR',
  price: '19.99',
  purchased_at: new Date(begin).toISOString(),
  expires_at: new Date(begin + DAY).toISOString(),
})

async function claim(user: string, body: object): Promise<void> {
  const { status, text } = await stores.api.call('POST', `/v4/users/${user}/purchases`, { key: stores.project.secret, body })
  // Somebody may have reported it before.
  expect([201, 409], text).toContain(status)
}

test(
  'the App Store: the same follows in every order',
  async () => {
    await stores.connectApple()
    await product(stores.api, { id: 'monthly', apple_product_id: MONTHLY }, stores.project.secret)
    const begin = Date.now() - 6 * MONTH_MS
    const users: string[] = []
    for (const steps of fc.sample(order(10), { numRuns: ORDERS, seed: 7 })) {
      const { id, account } = await stores.user()
      const { subscription, notifications } = appleStory(stores.chain, begin, { account })
      stores.apple.production.lineages.push(subscription.state)
      for (const step of steps) {
        if (step === null) await claim(id, { app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) } })
        else expect(await stores.pushApple(notifications[step]!)).toBe(200)
      }
      users.push(id)
    }
    const first = await expectOneOutcome(stores, users)
    expect(first.facts).toHaveLength(4)
    expect(first.facts.filter(({ billing_retry_at }) => billing_retry_at !== null)).toHaveLength(1)
  },
  LIMIT_MS,
)

test(
  'Google Play: the same follows in every order',
  async () => {
    await stores.connectGoogle()
    await product(stores.api, { id: 'pro', google_product_id: 'pro', google_base_plan_id: 'monthly' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 150 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const [n, steps] of fc.sample(order(9), { numRuns: ORDERS, seed: 8 }).entries()) {
      const { id } = await stores.user()
      const names = { token: `token-${n}`, order: `GPA.${n}-1` }
      const story = playStory(stores.google, { ...names, accountId: id, trialDays: 7 })
      const pushes = [
        story.subscribe(begin),
        story.renew(),
        story.cancel(begin + 10 * DAY),
        story.restart(begin + 12 * DAY),
        story.grace(),
        story.recover(begin + 40 * DAY),
        story.refund(begin + 45 * DAY, '3.00'),
        story.cancel(begin + 50 * DAY),
        story.expire(),
      ]
      const data = { purchase_token: names.token, product_id: 'pro', base_plan_id: 'monthly', order_id: names.order }
      for (const step of steps) {
        if (step === null) await claim(id, { play_store_data: data, ...reportedByCaller(begin) })
        else expect(await stores.pushGoogle(pushes[step]!.body)).toBe(200)
      }
      users.push(id)
    }
    const first = await expectOneOutcome(stores, users)
    expect(first.facts).toHaveLength(3)
    expect(first.facts.filter(({ billing_retry_at }) => billing_retry_at !== null)).toHaveLength(1)
  },
  LIMIT_MS,
)

test(
  'Google Play, a token that another one replaces: the same follows in every order',
  async () => {
    await stores.connectGoogle()
    for (const id of ['pro', 'max'])
      await product(stores.api, { id, google_product_id: id, google_base_plan_id: 'monthly' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 50 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const [n, steps] of fc.sample(order(7), { numRuns: Math.ceil(ORDERS / 2), seed: 12 }).entries()) {
      const { id } = await stores.user()
      const old = playStory(stores.google, { token: `old-${n}`, order: `GPA.${n}-3`, price: '5', accountId: id })
      const names = { token: `young-${n}`, order: `GPA.${n}-4`, product: 'max' }
      const young = playStory(stores.google, { ...names, linkedToken: old.token })
      const at = begin + 10 * DAY
      const pushes = [
        old.subscribe(begin),
        old.cancel(begin + 5 * DAY),
        young.subscribe(at),
        old.replace(at),
        young.renew(),
        young.cancel(begin + 45 * DAY),
        young.restart(begin + 46 * DAY),
      ]
      const data = { purchase_token: names.token, product_id: 'max', base_plan_id: 'monthly', order_id: names.order }
      for (const step of steps) {
        if (step === null) await claim(id, { play_store_data: data, ...reportedByCaller(at) })
        else expect(await stores.pushGoogle(pushes[step]!.body)).toBe(200)
      }
      users.push(id)
    }
    const first = await expectOneOutcome(stores, users)
    // Cancelled and continued, whole, cancelled and taken back.
    expect(first.facts.map(({ auto_renewing, auto_renew_changes }) => [auto_renewing, auto_renew_changes.length])).toEqual([
      [true, 2],
      [true, 0],
      [true, 2],
    ])
    expect(first.events.find(({ name }) => name === 'subscription_canceled')).toMatchObject({ times: 2 })
  },
  LIMIT_MS,
)

test(
  'Stripe: the same follows in every order',
  async () => {
    await stores.connectStripe()
    await product(stores.api, { id: 'web', stripe_product_id: 'prod_pro' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 150 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const [n, steps] of fc.sample(order(8), { numRuns: ORDERS, seed: 9 }).entries()) {
      const { id } = await stores.user()
      const story = stripeStory(stores.stripe, { id: `sub_${n}`, userId: id, trialDays: 7 })
      const pushes = [
        story.subscribe(begin),
        story.renew(),
        story.cancel(begin + 10 * DAY),
        story.restart(begin + 12 * DAY),
        story.renew(),
        story.refund(story.endsAt() - 20 * DAY, 300),
        story.cancel(story.endsAt() - 10 * DAY),
        story.end(),
      ]
      for (const step of steps) {
        const stripe_store_data = { subscription_id: `sub_${n}`, product_id: 'prod_pro' }
        if (step === null) await claim(id, { stripe_store_data, ...reportedByCaller(begin) })
        else expect(await stores.pushStripe(pushes[step]!.body)).toBe(200)
      }
      users.push(id)
    }
    const first = await expectOneOutcome(stores, users)
    expect(first.facts).toHaveLength(3)
    expect(first.facts.filter(({ refunded_amount }) => refunded_amount !== null)).toHaveLength(1)
  },
  LIMIT_MS,
)

test(
  'Paddle: the same follows in every order',
  async () => {
    await stores.connectPaddle()
    await product(stores.api, { id: 'web', paddle_product_id: 'pro' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 150 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const steps of fc.sample(order(9), { numRuns: Math.ceil(ORDERS / 5), seed: 10 })) {
      const { id } = await stores.user()
      const story = paddleStory(stores.paddle, { accountId: id, trialDays: 7 })
      const [first, ...rest] = story.subscribe(begin)
      const pushes = [
        ...rest,
        ...story.renew(),
        ...story.fail(),
        ...story.recover(story.endsAt() - 27 * DAY),
        ...story.refund(story.endsAt() - 20 * DAY, '300'),
        ...story.scheduleCancel(story.endsAt() - 10 * DAY),
        ...story.cancel(),
      ]
      const transaction_id = first!.body && story.latest().id
      const data = { transaction_id, product_id: 'pro', type: 'subscription', subscription_id: story.id }
      for (const step of steps) {
        if (step === null) await claim(id, { paddle_store_data: data, ...reportedByCaller(begin) })
        else expect(await stores.pushPaddle(pushes[step]!.body)).toBe(200)
      }
      users.push(id)
    }
    const first = await expectOneOutcome(stores, users)
    expect(first.facts).toHaveLength(3)
  },
  LIMIT_MS,
)

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { product } from '../../harness/purchases.ts'
import { appleSubscription, MONTH_MS, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'
import { expectOneOutcome, LIMIT_MS, ORDERS, order } from './one-outcome.ts'

// As `convergence.test.ts`, for what ends: by a charge that fails for good, in grace or on hold, with a refund, and with a return.

const DAY = 86_400_000

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const orders = (count: number, seed: number, runs = ORDERS): number[][] =>
  fc.sample(order(count), { numRuns: runs, seed }).map(steps => steps.filter(step => step !== null))

type Outcome = Awaited<ReturnType<typeof expectOneOutcome>>
const namesIn = ({ events }: Outcome): string[] => events.map(({ name }) => name)
const endsIn = ({ events }: Outcome): (string | null)[] =>
  events.filter(({ name }) => name.endsWith('_expired')).map(({ reason }) => reason)

test(
  'the App Store: grace, given up, bought again, a refund',
  async () => {
    await stores.connectApple()
    await product(stores.api, { id: 'monthly', apple_product_id: MONTHLY }, stores.project.secret)
    const now = Date.now()
    const begin = now - 80 * DAY
    const users: string[] = []
    for (const steps of orders(7, 21)) {
      const { id, account } = await stores.user()
      const subscription = appleSubscription(stores.chain, { account })
      const failed = begin + MONTH_MS
      const notifications = [
        subscription.subscribe(begin),
        subscription.failToRenew(failed, failed + 16 * DAY),
        subscription.endGrace(failed + 16 * DAY),
        subscription.expire(now - 5 * DAY, 'BILLING_RETRY'),
        subscription.subscribe(now - 2 * DAY),
        subscription.refund(now - DAY, 50_000),
        subscription.switchAutoRenew(now - DAY / 2, false),
      ]
      stores.apple.production.lineages.push(subscription.state)
      for (const step of steps) expect(await stores.pushApple(notifications[step]!)).toBe(200)
      users.push(id)
    }
    const outcome = await expectOneOutcome(stores, users)
    expect(endsIn(outcome)).toEqual(['billing_error'])
    expect(namesIn(outcome).filter(name => name === 'subscription_started')).toHaveLength(2)
    expect(outcome.events.find(({ name }) => name === 'subscription_canceled')).toMatchObject({ times: 1, is_voluntary: null })
  },
  LIMIT_MS,
)

test(
  'Google Play: grace, hold, expired, bought again with another token, a refund',
  async () => {
    await stores.connectGoogle()
    await product(stores.api, { id: 'pro', google_product_id: 'pro', google_base_plan_id: 'monthly' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 100 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const [n, steps] of orders(7, 22).entries()) {
      const { id } = await stores.user()
      const old = playStory(stores.google, { token: `ended-${n}`, order: `GPA.${n}-5`, accountId: id })
      const subscribed = old.subscribe(begin)
      const failed = old.endsAt()
      const ended = [old.grace(), old.hold(failed + 7 * DAY), old.expire(failed + 30 * DAY)]
      const again = playStory(stores.google, { token: `again-${n}`, order: `GPA.${n}-6`, accountId: id, linkedToken: old.token })
      const at = failed + 50 * DAY
      const pushes = [subscribed, ...ended, again.subscribe(at), again.refund(at + DAY, '3.00'), again.cancel(at + 2 * DAY)]
      for (const step of steps) expect(await stores.pushGoogle(pushes[step]!.body)).toBe(200)
      users.push(id)
    }
    const outcome = await expectOneOutcome(stores, users)
    expect(endsIn(outcome)).toEqual(['billing_error'])
    expect(namesIn(outcome).filter(name => name === 'subscription_started')).toHaveLength(2)
    expect(outcome.events.find(({ name }) => name === 'subscription_canceled')).toMatchObject({ times: 1, is_voluntary: null })
  },
  LIMIT_MS,
)

test(
  'Stripe: a charge that fails for good',
  async () => {
    await stores.connectStripe()
    await product(stores.api, { id: 'web', stripe_product_id: 'prod_pro' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 90 * DAY) / 1000) * 1000
    const users: string[] = []
    for (const [n, steps] of orders(6, 23).entries()) {
      const { id } = await stores.user()
      const story = stripeStory(stores.stripe, { id: `sub_end_${n}`, userId: id })
      const first = [story.subscribe(begin), story.refund(begin + 5 * DAY, 300)]
      const renewed = story.renew()
      const ends = story.endsAt()
      const failed = [story.draft(), story.fail(ends + 3_600_000)]
      const pushes = [...first, renewed, ...failed, story.end(ends + 14 * DAY)]
      for (const step of steps) expect(await stores.pushStripe(pushes[step]!.body)).toBe(200)
      users.push(id)
    }
    const outcome = await expectOneOutcome(stores, users)
    expect(endsIn(outcome)).toEqual(['billing_error'])
    expect(namesIn(outcome)).not.toContain('subscription_canceled')
  },
  LIMIT_MS,
)

test(
  'Paddle: a charge that fails for good',
  async () => {
    await stores.connectPaddle()
    await product(stores.api, { id: 'web', paddle_product_id: 'pro' }, stores.project.secret)
    const begin = Math.floor((Date.now() - 90 * DAY) / 1000) * 1000
    const users: string[] = []
    // Paddle grants three requests a second to the whole installation.
    for (const steps of orders(7, 24, Math.ceil(ORDERS / 5))) {
      const { id } = await stores.user()
      const story = paddleStory(stores.paddle, { accountId: id })
      const [, ...begun] = story.subscribe(begin)
      const paid = story.latest()
      const failed = story.fail()
      const pushes = [...begun, ...story.refund(begin + 5 * DAY, '300', {}, paid), ...failed, ...story.cancel(begin + 45 * DAY), failed[0]!]
      for (const step of steps) expect(await stores.pushPaddle(pushes[step]!.body)).toBe(200)
      users.push(id)
    }
    const outcome = await expectOneOutcome(stores, users)
    expect(endsIn(outcome)).toEqual(['billing_error'])
    expect(namesIn(outcome)).not.toContain('subscription_canceled')
  },
  LIMIT_MS,
)

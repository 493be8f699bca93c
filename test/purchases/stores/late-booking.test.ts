import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'
import { until } from '../../harness/until.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
let stores: ReachedStores
const requested: string[] = []
beforeAll(async () => {
  stores = await startStores({ refreshCounts: { refresh: (platform: string) => void requested.push(platform), missed: () => {} } })
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** The planned check of every queue is due now, and made. */
async function nextCheck(): Promise<void> {
  const before = requested.length
  // Answers have whole seconds; queues keep them apart.
  await stores.api.pool.query(
    `update store_lanes set next_check_at = clock_timestamp(), asked_at = asked_at - interval '2 seconds' where project = $1 and next_check_at is not null`,
    [stores.project.id],
  )
  await stores.hurry()
  await until('the store is asked', () => requested.length > before || undefined)
  await stores.settled()
}

/** Seconds until the store is asked again; null: never. */
async function nextIn(): Promise<number | null> {
  const times = (await stores.queues()).flatMap(({ next }) => next ?? [])
  return times.length > 0 ? Math.min(...times) : null
}

describe('a renewal that is booked late and never notified is found by the checks, however often the store repeated the old state', () => {
  test('App Store', async () => {
    await stores.connectApple()
    const { account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    stores.apple.production.lineages.push(subscription.state)
    await stores.pushApple(subscription.subscribe(Date.now() - MONTH_MS - 2 * HOUR))
    await stores.settled()
    for (let n = 0; n < 3; n++) {
      await nextCheck()
      expect(await nextIn()).toBeLessThan(DAY / 1000)
      expect(await stores.purchases()).toHaveLength(1)
    }
    subscription.renew(Date.now())
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(2)
    expect(await stores.events()).toEqual(['subscription_started', 'subscription_renewed'])
    expect(await nextIn()).toBeGreaterThan(20 * 86_400)
  })

  test('Google Play', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'late', accountId: (await stores.user()).id })
    await stores.pushGoogle(story.subscribe(Date.now() - 30 * DAY - 2 * HOUR).body)
    await stores.settled()
    for (let n = 0; n < 3; n++) {
      await nextCheck()
      expect(await nextIn()).not.toBeNull()
      expect(await stores.purchases()).toHaveLength(1)
    }
    story.renew()
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(2)
    expect(await stores.events()).toEqual(['subscription_started', 'subscription_renewed'])
  })

  test('Stripe', async () => {
    await stores.connectStripe()
    const story = stripeStory(stores.stripe, { id: 'sub_late', items: [{ id: 'si_late', product: 'prod_pro', amount: 1000 }] })
    await stores.pushStripe(story.subscribe(Date.now() - 31 * DAY - 3 * HOUR).body)
    await stores.settled()
    for (let n = 0; n < 2; n++) await nextCheck()
    expect(await nextIn()).not.toBeNull()
    story.renew()
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(2)
  })

  test('Paddle', async () => {
    await stores.connectPaddle()
    const story = paddleStory(stores.paddle, {})
    for (const { body } of story.subscribe(Date.now() - 31 * DAY - 3 * HOUR)) await stores.pushPaddle(body)
    await stores.settled()
    for (let n = 0; n < 2; n++) await nextCheck()
    expect(await nextIn()).not.toBeNull()
    story.renew()
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(2)
  })
})

describe('a notification whose answer does not show it yet', () => {
  test('of a renewal is asked about again within seconds, and then as planned', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'stale' })
    await stores.pushGoogle(story.subscribe(Date.now() - 30 * DAY - HOUR).body)
    await stores.settled()
    const old = structuredClone(story.answer())
    const push = story.renew()
    const renewed = structuredClone(story.answer())
    stores.google.subscriptions.set(story.token, old)
    await stores.pushGoogle(push.body)
    await stores.settled()
    expect(await nextIn()).toBeLessThanOrEqual(2)
    stores.google.subscriptions.set(story.token, renewed)
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(2)
    expect(await nextIn()).toBeGreaterThan(20 * 86_400)
  })

  test('of a purchase that the store does not know yet, too', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'unknown-yet' })
    const push = story.subscribe(Date.now() - 1000)
    const answer = structuredClone(story.answer())
    stores.google.subscriptions.delete(story.token)
    await stores.pushGoogle(push.body)
    await stores.settled()
    expect(await stores.purchases()).toEqual([])
    expect(await nextIn()).toBeLessThanOrEqual(2)
    stores.google.subscriptions.set(story.token, answer)
    await nextCheck()
    expect(await stores.purchases()).toHaveLength(1)
  })

  test('is given up after four more questions', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'never' })
    const push = story.subscribe(Date.now() - 1000)
    stores.google.subscriptions.delete(story.token)
    await stores.pushGoogle(push.body)
    await stores.settled()
    await stores.api.pool.query(`update store_lanes set missed_since = clock_timestamp() - interval '12 minutes' where project = $1`, [
      stores.project.id,
    ])
    await nextCheck()
    expect(await nextIn()).toBeNull()
  })
})

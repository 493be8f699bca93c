import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'

const MINUTE = 60_000
const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  stores.google.date = null
})

/** The end of the access that the only purchase gives; ms. */
async function accessUntil(): Promise<number> {
  const [purchase] = await stores.purchases()
  return Date.parse(purchase!.until!)
}

describe('a grace period that is over before its announced end gives no more access: App Store', () => {
  type Subscription = ReturnType<typeof appleSubscription>
  const ends: [string, (subscription: Subscription, at: number) => Parameters<ReachedStores['pushApple']>[0]][] = [
    ['GRACE_PERIOD_EXPIRED', (subscription, at) => subscription.endGrace(at)],
    ['EXPIRED, voluntary', (subscription, at) => subscription.expire(at, 'VOLUNTARY')],
    ['EXPIRED, billing retry given up', (subscription, at) => subscription.expire(at, 'BILLING_RETRY')],
  ]
  test.each(ends)('%s', async (_name, end) => {
    await stores.connectApple({ isConnected: false })
    const { account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    const over = Math.floor((Date.now() - DAY) / 1000) * 1000
    const graceUntil = over + 14 * DAY
    const announced = [subscription.subscribe(over - 2 * DAY - MONTH_MS), subscription.failToRenew(over - 2 * DAY + 1, graceUntil)]
    for (const notification of announced) await stores.pushApple(notification)
    await stores.settled()
    expect(await accessUntil()).toBe(Math.floor(graceUntil / 1000) * 1000)
    await stores.pushApple(end(subscription, over))
    await stores.settled()
    expect(await accessUntil()).toBe(over)
  })

  test('the state that the API answers ends it as well', async () => {
    await stores.connectApple()
    const { account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    stores.apple.production.lineages.push(subscription.state)
    const ended = Date.now() - 2 * DAY
    await stores.pushApple(subscription.subscribe(ended - MONTH_MS))
    await stores.pushApple(subscription.failToRenew(ended + 1, ended + 16 * DAY))
    await stores.settled()
    subscription.endGrace(Date.now())
    await stores.api.pool.query('update store_lanes set next_check_at = clock_timestamp() where project = $1', [stores.project.id])
    await stores.hurry()
    await stores.settled()
    expect(await accessUntil()).toBeLessThanOrEqual(Date.now())
  })
})

describe('a grace period that is over before its announced end gives no more access: Google Play', () => {
  type Story = ReturnType<typeof playStory>
  const iso = (ms: number) => new Date(ms).toISOString()
  /** As Google answers it when the grace ends: the expiry is the end of the access. */
  function expired(story: Story, at: number, context: object) {
    const push = story.expire(at)
    const answer = story.answer()
    const [line] = answer.lineItems!
    Object.assign(answer, {
      subscriptionState: 'SUBSCRIPTION_STATE_EXPIRED',
      canceledStateContext: context,
      lineItems: [{ ...line!, expiryTime: iso(at), autoRenewingPlan: {} }],
    })
    return push
  }
  const ends: [string, (story: Story, at: number) => { body: Uint8Array | string }][] = [
    ['EXPIRED, by billing', (story, at) => expired(story, at, { systemInitiatedCancellation: {} })],
    ['EXPIRED, by the developer', (story, at) => expired(story, at, { developerInitiatedCancellation: {} })],
    ['EXPIRED, by the user', (story, at) => expired(story, at, { userInitiatedCancellation: { cancelTime: iso(at - MINUTE) } })],
    ['ON_HOLD', (story, at) => story.hold(at)],
  ]
  test.each(ends)('%s', async (_name, end) => {
    await stores.connectGoogle()
    const { id } = await stores.user()
    const story = playStory(stores.google, { token: 'graced', accountId: id })
    const ended = Date.now() - 2 * DAY
    stores.google.date = new Date(Date.now() - 4 * MINUTE).toUTCString()
    await stores.pushGoogle(story.subscribe(ended - 30 * DAY).body)
    await stores.settled()
    stores.google.date = new Date(Date.now() - 3 * MINUTE).toUTCString()
    await stores.pushGoogle(story.grace(ended).body)
    await stores.settled()
    expect(await accessUntil()).toBeGreaterThan(Date.now() + 4 * DAY)
    stores.google.date = new Date(Date.now() - 2 * MINUTE).toUTCString()
    await stores.pushGoogle(end(story, Date.now() - 2 * MINUTE).body as string)
    await stores.settled()
    expect(await accessUntil()).toBeLessThanOrEqual(Date.now())
    const [purchase] = await stores.purchases()
    expect(await accessUntil()).toBeGreaterThanOrEqual(Date.parse(purchase!.begins) + 30 * DAY)
  })
})

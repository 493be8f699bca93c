import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { userOf } from '../harness/purchases.ts'
import { inboxOf } from '../harness/store-inbox.ts'
import { appleStory } from '../harness/stores/apple-story.ts'
import { appleSubscription, MONTH_MS, MONTHLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const states = async () => (await inboxOf(stores.api.pool, stores.project.id)).map(({ state, reason }) => reason ?? state)
const purchasesOf = async () =>
  (
    await stores.api.pool.query(
      `select store_product_id as product, user_id as user, price, auto_renewing as renews, refunded_amount as refunded, expires_at as ends
       from purchases where environment = $1 order by purchased_at`,
      [stores.project.production],
    )
  ).rows
const eventsOf = async () =>
  (
    await stores.api.pool.query('select name from events where environment = $1 order by happened_at, id', [stores.project.production])
  ).rows.map(({ name }) => name)
const laneOf = async () =>
  (
    await stores.api.pool.query(
      `select l.name, l.asked_at is not null as asked, round(extract(epoch from l.next_check_at - clock_timestamp()))::int as next, l.attempts, l.reason
       from store_lanes l where project = $1 order by id`,
      [stores.project.id],
    )
  ).rows

describe('the App Store', () => {
  test('a subscription that is pushed gives its account access, without asking Apple when nothing is missing', async () => {
    await stores.connectApple()
    const user = await userOf(stores.api, stores.project.secret)
    const account = user.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const subscription = appleSubscription(stores.chain, { account })
    expect(await stores.pushApple(subscription.subscribe(Date.now() - 1000))).toBe(200)
    await stores.settled()
    expect(await states()).toEqual(['done'])
    expect(await purchasesOf()).toEqual([expect.objectContaining({ product: MONTHLY, user, price: '9.99', renews: true })])
    expect(await eventsOf()).toEqual(['subscription_started', 'unmapped_product'])
    expect(stores.apple.asked).toEqual([])
    expect(await laneOf()).toEqual([{ name: subscription.lineage, asked: false, next: expect.any(Number), attempts: 0, reason: null }])
  })

  test('a whole story, pushed at once, is asked for where the first periods are missing', async () => {
    await stores.connectApple()
    const { subscription, notifications } = appleStory(stores.chain, Date.now() - 6 * MONTH_MS)
    stores.apple.production.lineages.push(subscription.state)
    for (const notification of notifications.toReversed()) expect(await stores.pushApple(notification)).toBe(200)
    await stores.settled()
    expect(new Set(await states())).toEqual(new Set(['done']))
    expect(await purchasesOf()).toHaveLength(4)
  })
})

describe('Google Play', () => {
  test('a push is only a hint: Google is asked, the purchase recorded for the account that the app named, and acknowledged once', async () => {
    await stores.connectGoogle()
    const user = await userOf(stores.api, stores.project.secret)
    const story = playStory(stores.google, { token: 'token-1', accountId: user })
    const { body } = story.subscribe(Date.now() - DAY)
    expect(await stores.pushGoogle(body)).toBe(200)
    expect(await stores.pushGoogle(body)).toBe(200)
    await stores.settled()
    expect(await states()).toEqual(['done'])
    expect(await purchasesOf()).toEqual([expect.objectContaining({ product: 'pro', user, renews: true })])
    expect(await eventsOf()).toEqual(['subscription_started', 'unmapped_product'])
  })
})

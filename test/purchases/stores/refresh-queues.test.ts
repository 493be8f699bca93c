import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { product } from '../../harness/purchases.ts'
import { appleStory } from '../../harness/stores/apple-story.ts'
import { appleSubscription, MONTH_MS, MONTHLY } from '../../harness/stores/apple-subscription.ts'
import { pushBody } from '../../harness/stores/google.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { until } from '../../harness/until.ts'

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

describe('the App Store', () => {
  test('a pushed purchase belongs to the account that the app named; Apple is not asked when nothing is missing', async () => {
    await stores.connectApple()
    const { id, account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    expect(await stores.pushApple(subscription.subscribe(Date.now() - 1000))).toBe(200)
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await stores.purchases()).toEqual([expect.objectContaining({ product: MONTHLY, user: id, price: '9.99', renews: true })])
    expect(await stores.events()).toEqual(['subscription_started'])
    expect(stores.apple.requests).toEqual([])
    const [queue] = await stores.queues()
    expect(queue).toMatchObject({ name: subscription.lineage, isFetched: false, attempts: 0, reason: null })
    // Once in the last day before the end.
    expect(queue!.next).toBeGreaterThan(29 * 86_400 - 60)
    expect(queue!.next).toBeLessThan(30 * 86_400)
  })

  test('where the periods before the first notification are missing, Apple is asked for them before anything is emitted', async () => {
    await stores.connectApple()
    const { account } = await stores.user()
    const { subscription, notifications } = appleStory(stores.chain, Date.now() - 6 * MONTH_MS, { account })
    stores.apple.production.lineages.push(subscription.state)
    for (const notification of notifications.toReversed()) expect(await stores.pushApple(notification)).toBe(200)
    await stores.settled()
    expect(new Set(await stores.rows())).toEqual(new Set(['done']))
    expect(await stores.purchases()).toHaveLength(4)
    expect((await stores.events()).filter(name => name === 'subscription_started')).toHaveLength(1)
    expect(stores.apple.requests.length).toBeGreaterThan(0)
  })

  test('access does not wait for an Apple that does not answer: what it must be asked for is emitted afterwards, once', async () => {
    await stores.connectApple()
    const { id, account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    const begin = Date.now() - 45 * DAY
    subscription.subscribe(begin)
    const renewal = subscription.renew(begin + MONTH_MS)
    stores.apple.production.lineages.push(subscription.state)
    stores.apple.override = () => ({ status: 503, body: {} })
    await stores.pushApple(renewal)
    await stores.settled()
    expect(await stores.purchases()).toEqual([expect.objectContaining({ user: id, renews: true })])
    expect((await stores.purchases())[0]!.until).not.toBeNull()
    expect(await stores.events()).toEqual([])
    expect(await stores.queues()).toEqual([expect.objectContaining({ attempts: 1, reason: 'http_503', isFetched: false })])
    stores.apple.override = null
    await stores.hurry()
    await until('the history is known', async () => ((await stores.purchases()).length === 2 ? true : undefined))
    expect(await stores.events()).toEqual(['subscription_started', 'subscription_renewed'])
    expect(await stores.queues()).toEqual([expect.objectContaining({ attempts: 0, reason: null, isFetched: true })])
  })

  test('without the keys of the API a notification counts as it is', async () => {
    await stores.connectApple({ isConnected: false })
    const subscription = appleSubscription(stores.chain)
    subscription.subscribe(Date.now() - MONTH_MS)
    await stores.pushApple(subscription.renew(Date.now() - 1000))
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await stores.purchases()).toHaveLength(1)
    expect(await stores.queues()).toEqual([expect.objectContaining({ next: null })])
  })

  test('a notification that cannot be read is tried alone and set aside; its neighbours are not kept', async () => {
    await stores.connectApple()
    const subscription = appleSubscription(stores.chain)
    const good = [subscription.subscribe(Date.now() - 2000), subscription.switchAutoRenew(Date.now() - 1000, false)]
    const bad = subscription.posted('DID_RENEW', null, Date.now() - 1500, { ...subscription.last(), bundleId: 'com.other' })
    for (const one of [good[0]!, bad, good[1]!]) expect(await stores.pushApple(one)).toBe(200)
    await stores.settled()
    expect((await stores.rows()).map(row => row.slice(0, 9))).toEqual(['done', 'pending 1', 'done'])
    expect(await stores.purchases()).toEqual([expect.objectContaining({ renews: false })])
    for (let attempts = 2; attempts <= 5; attempts++) {
      await stores.hurry()
      await until('it was tried again', async () => ((await stores.rows())[1]!.includes(` ${attempts}: `) ? true : undefined))
    }
    expect((await stores.rows())[1]).toMatch(/^set_aside 5: /)
  })
})

describe('Google Play', () => {
  test('a push is a hint: Google is asked, the purchase recorded for the account that the app named, and acknowledged once', async () => {
    await stores.connectGoogle()
    const { id } = await stores.user()
    const story = playStory(stores.google, { token: 'token-1', accountId: id })
    const { body } = story.subscribe(Date.now() - DAY)
    expect(await stores.pushGoogle(body)).toBe(200)
    expect(await stores.pushGoogle(body)).toBe(200)
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await stores.purchases()).toEqual([expect.objectContaining({ product: 'pro', user: id, renews: true })])
    expect(await stores.events()).toEqual(['subscription_started'])
    const isAcknowledged = () => story.answer().acknowledgementState === 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED'
    await until('Google has the acknowledgement', () => isAcknowledged() || undefined)
    await stores.pushGoogle(story.renew(Date.now() - 1000).body)
    await stores.settled()
    expect(stores.google.calls().filter(path => path.endsWith(':acknowledge'))).toHaveLength(1)
  })

  test('a purchase without owner is acknowledged when it gets one', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'token-late' })
    await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await stores.settled()
    expect(await stores.purchases()).toEqual([expect.objectContaining({ user: null })])
    const { id } = await stores.user()
    await product(stores.api, { id: 'pro', google_product_id: 'pro', google_base_plan_id: 'monthly' }, stores.project.secret)
    const claim = { purchase_token: 'token-late', product_id: 'pro', base_plan_id: 'monthly', order_id: story.latestOrder() }
    await stores.good('POST', `/v4/users/${id}/purchases`, {
      play_store_data: claim,
      currency: 'EUR',
      price: '9.99',
      purchased_at: new Date(Date.now() - DAY).toISOString(),
      expires_at: new Date(Date.now() + DAY).toISOString(),
    })
    await until('Google has the acknowledgement', () =>
      story.answer().acknowledgementState === 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED' ? true : undefined,
    )
    expect(await stores.events()).toEqual(['subscription_started'])
  })

  test('a hundred pushes of one token are one question', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'token-100' })
    const subscribed = story.subscribe(Date.now() - DAY)
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const { instead } = stores.google
    stores.google.instead = request => held.then(() => instead(request)) as never
    await stores.pushGoogle(subscribed.body)
    await until('Google is asked', () => stores.google.calls().some(path => path.includes('token-100')) || undefined)
    const more = Array.from({ length: 100 }, (_, i) => story.restart(Date.now() - 100 + i).body)
    await Promise.all(more.map(body => stores.pushGoogle(body)))
    release()
    await stores.settled()
    expect(new Set(await stores.rows())).toEqual(new Set(['done']))
    expect(stores.google.calls().filter(path => path.includes('subscriptionsv2/tokens/token-100'))).toHaveLength(2)
  })

  test.each([
    [{ status: 503, body: {} }, 'http_503'],
    [{ status: 401, body: {} }, 'http_401'],
    ['silence', 'connection'],
  ] as const)('the queue waits, visibly, while Google answers %j; then everything is recorded', async (reply, reason) => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: `token-${reason}` })
    stores.google.instead = () => (reply === 'silence' ? ('cut' as never) : reply)
    await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await until('the queue waits', async () => ((await stores.queues())[0]!.attempts > 0 ? true : undefined))
    expect(await stores.rows()).toEqual(['pending'])
    expect((await stores.queues())[0]!.reason).toContain(reason === 'connection' ? '' : reason)
    expect(await stores.alerts()).toEqual(reason === 'http_401' ? ['store_credentials'] : [])
    stores.google.instead = () => undefined
    await stores.hurry()
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await stores.purchases()).toHaveLength(1)
    expect(await stores.alerts()).toEqual([])
  })

  test('after 429 the budget rests for as long as Google says, for every queue', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'token-429' })
    stores.google.instead = () => ({ status: 429, body: {}, headers: { 'retry-after': '3000' } })
    await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await until('the queue waits', async () => ((await stores.queues())[0]!.attempts > 0 ? true : undefined))
    const requestCount = stores.google.calls().length
    await stores.pushGoogle(playStory(stores.google, { token: 'token-other', order: 'GPA.9' }).subscribe(Date.now() - DAY).body)
    await until('the other queue waits', async () => {
      const { rows } = await stores.api.pool.query(
        `select 1 from due d join store_lanes l on l.id = d.id where d.kind = 'store_lane' and l.name = 'token-other'
         and d.due_at > clock_timestamp() + interval '45 minutes'`,
      )
      return rows.length > 0 || undefined
    })
    expect(stores.google.calls()).toHaveLength(requestCount)
    expect(await stores.rows()).toEqual(['pending', 'pending'])
  })

  test('what Google does not know is ignored; what it has forgotten keeps what is known', async () => {
    await stores.connectGoogle()
    const unknown = { version: '1.0', notificationType: 4, purchaseToken: 'token-unknown' }
    await stores.pushGoogle(pushBody({ eventTimeMillis: String(Date.now()), subscriptionNotification: unknown }, 'unknown-1'))
    await stores.settled()
    expect(await stores.rows()).toEqual(['ignored'])
    const story = playStory(stores.google, { token: 'token-gone' })
    await stores.pushGoogle(story.subscribe(Date.now() - 40 * DAY).body)
    await stores.settled()
    // Younger than the answer, which counts until the end of its second.
    const canceled = story.cancel(Date.now() + 2000)
    stores.google.gone.add('token-gone')
    await stores.pushGoogle(canceled.body)
    await stores.settled()
    expect(await stores.rows()).toEqual(['ignored', 'done', 'done'])
    expect(await stores.purchases()).toEqual([expect.objectContaining({ renews: false })])
  })

  test('while the store is switched off its queues wait, and nothing is lost', async () => {
    await stores.connectGoogle()
    const story = playStory(stores.google, { token: 'token-off' })
    stores.google.instead = () => ({ status: 503, body: {} })
    await stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await until('the queue waits', async () => ((await stores.queues())[0]!.attempts > 0 ? true : undefined))
    stores.google.instead = () => undefined
    await stores.api.pool.query('update store_configs set enabled = false where project = $1', [stores.project.id])
    await stores.hurry()
    await until('it was tried', async () => ((await stores.queues())[0]!.reason === 'not_connected' ? true : undefined))
    expect(await stores.rows()).toEqual(['pending'])
    await stores.api.pool.query('update store_configs set enabled = true where project = $1', [stores.project.id])
    await stores.hurry()
    await stores.settled()
    expect(await stores.purchases()).toHaveLength(1)
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { raiseAlerts } from '../../../domain/purchases/store-inbox/alerts.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'
import { tracesOf } from '../../harness/traces.ts'
import { until } from '../../harness/until.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  stores.google.date = null
})

const queueFails = (attempts = 1) =>
  until('the queue waits', async () => ((await stores.queues()).some(queue => queue.attempts >= attempts) ? true : undefined))

describe('the App Store is down over the end of a period', () => {
  /** The period has ended over 24 h ago: a store that is not connected would have its expiry emitted by now. */
  async function unheard() {
    await openShop(stores, 'apple')
    const { id, account } = await stores.user()
    const subscription = appleSubscription(stores.chain, { account })
    const begin = Math.floor(Date.now() / 1000) * 1000 - MONTH_MS - DAY - 5 * 60_000
    stores.apple.override = () => ({ status: 503, body: {} })
    expect(await stores.pushApple(subscription.subscribe(begin))).toBe(200)
    await stores.settled()
    stores.apple.production.lineages.push(subscription.state)
    // The checks of the queue are due, and fail; so are the timers of the subscription, which must not take the end for an expiry.
    for (const attempts of [1, 2]) {
      await stores.hurry()
      await queueFails(attempts)
    }
    await until('the timers have passed', async () => {
      const { rowCount } = await stores.api.pool.query(
        `select 1 from due where environment = $1 and kind = 'subscription' and due_at <= clock_timestamp()`,
        [stores.project.production],
      )
      return rowCount === 0 || undefined
    })
    expect(await stores.events()).toEqual(['subscription_started'])
    stores.apple.override = null
    return { id, subscription, begin }
  }

  const timed = async () => {
    const { rows } = await stores.api.pool.query<{ name: string; happened_at: string }>(
      'select name, happened_at from events where environment = $1 order by happened_at, log_offset',
      [stores.project.production],
    )
    return rows.map(({ name, happened_at }) => [name, Date.parse(happened_at)])
  }

  test('what it answers then is a renewal, and no expiry was emitted', async () => {
    const { id, subscription, begin } = await unheard()
    subscription.renew(begin + MONTH_MS)
    await stores.hurry()
    await until('the renewal is known', async () => ((await stores.purchases()).length === 2 ? true : undefined))
    expect(await timed()).toEqual([
      ['subscription_started', begin],
      ['subscription_renewed', begin + MONTH_MS],
    ])
    const { data } = await stores.good('GET', `/v4/users/${id}/entitlements`)
    expect(data).toEqual([expect.objectContaining({ is_active: true })])
  })

  test('what it answers then is the end, which is emitted with its own time', async () => {
    const { subscription, begin } = await unheard()
    subscription.expire(begin + MONTH_MS, 'BILLING_RETRY')
    await stores.hurry()
    await until('the end is known', async () => ((await stores.events()).includes('subscription_expired') ? true : undefined))
    expect(await timed()).toContainEqual(['subscription_expired', begin + MONTH_MS])
  })
})

describe('the erasure of a customer', () => {
  async function customer(token: string) {
    await openShop(stores, 'google')
    const { id } = await stores.user()
    const story = playStory(stores.google, { token, order: `GPA.${token}`, accountId: id })
    return { id, story }
  }
  const erase = (id: string) => stores.api.call('DELETE', `/v4/customers/${id}`, { key: stores.project.secret })
  const owners = async () => [...new Set((await stores.purchases()).map(({ user }) => user))]

  test('amid notifications that wait for the store leaves nothing of them; a later one is recorded without user', async () => {
    const { id, story } = await customer('erased-waiting')
    stores.google.instead = ({ path }) => (path.endsWith(':acknowledge') ? { status: 503, body: {} } : undefined) as never
    await stores.pushGoogle(story.subscribe(Date.now() - 40 * DAY).body)
    await stores.settled()
    expect(await owners()).toEqual([id])
    const renewal = story.renew()
    stores.google.instead = () => ({ status: 503, body: {} })
    await stores.pushGoogle(renewal.body)
    await queueFails()
    const about = { project: stores.project.id, platform: 'google', environment: stores.project.production } as const
    await raiseAlerts(stores.api.pool, [{ ...about, alert: 'price_unknown', about: story.token }])
    expect(await tracesOf(stores.api.pool, story.token)).toEqual(
      expect.arrayContaining(['public.store_lanes', 'public.store_acknowledgements', 'public.store_alerts', 'public.purchases']),
    )
    expect((await erase(id)).status).toBe(204)
    expect(await tracesOf(stores.api.pool, id)).toEqual([])
    expect(await tracesOf(stores.api.pool, story.token)).toEqual([])
    expect([await stores.rows(), await stores.queues(), await stores.alerts()]).toEqual([[], [], []])
    stores.google.instead = () => undefined
    const requestCount = stores.google.calls().length
    await stores.hurry()
    await stores.pushGoogle(story.cancel(Date.now()).body)
    await stores.settled()
    expect(await owners()).toEqual([null])
    expect(await stores.events()).toEqual([])
    expect(await tracesOf(stores.api.pool, id)).toEqual([])
    expect(
      stores.google
        .calls()
        .slice(requestCount)
        .filter(path => path.endsWith(':acknowledge')),
    ).toEqual([])
  })

  test('while the store is being asked keeps what it answers from being recorded', async () => {
    const { id, story } = await customer('erased-asked')
    await stores.pushGoogle(story.subscribe(Date.now() - 40 * DAY).body)
    await stores.settled()
    const renewal = story.renew()
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    let hasAnswered = false
    const requestCount = stores.google.calls().length
    stores.google.instead = async () => {
      await held
      hasAnswered = true
      return undefined as never
    }
    await stores.pushGoogle(renewal.body)
    await until('Google is asked', () => stores.google.calls().length > requestCount || undefined)
    expect((await erase(id)).status).toBe(204)
    release()
    await until('Google has answered', () => hasAnswered || undefined)
    stores.google.instead = () => undefined
    await stores.pushGoogle(story.cancel(Date.now()).body)
    await stores.settled()
    expect(await stores.rows()).toEqual(['done'])
    expect(await owners()).toEqual([null])
    expect(await tracesOf(stores.api.pool, id)).toEqual([])
  })
})

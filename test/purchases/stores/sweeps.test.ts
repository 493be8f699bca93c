import { describe, expect, test } from 'vitest'
import { appleChain } from '../../harness/stores/apple-chain.ts'
import { appleJws, appleNotification } from '../../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddlePush } from '../../harness/stores/paddle-story.ts'
import { eventBody } from '../../harness/stores/stripe-fixture.ts'
import { until } from '../../harness/until.ts'
import { jsonOf } from '../../harness/vendor.ts'
import { sweepStage } from './sweep-stage.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const stage = sweepStage()
const { sweeping, rows, swept, failed, later, sources, alerts, requestedHistory, attempted, bought } = stage

describe('what no push has brought', () => {
  test('the first sweep reaches a day back, and asks for everything; the next one for what Apple could not deliver', async () => {
    await stage.stores.connectApple()
    attempted(bought())
    attempted(bought(), false)
    const process = sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep', 'sweep'])
    const [first] = requestedHistory().map(jsonOf)
    expect(first.onlyFailures).toBeUndefined()
    expect(first.endDate - first.startDate).toBeGreaterThanOrEqual(DAY)
    expect(first.endDate - first.startDate).toBeLessThan(DAY + HOUR)
    stage.stores.apple.requests.length = 0
    await later(HOUR)
    process.begin()
    await swept()
    const [second] = requestedHistory().map(jsonOf)
    expect(second.onlyFailures).toBe(true)
    expect(second.startDate).toBeLessThan(Date.now() - HOUR)
    expect(second.startDate).toBeGreaterThan(Date.now() - 2 * HOUR)
    await stage.stores.settled()
  })

  test('a renewal that was never pushed reaches the purchases', async () => {
    await stage.stores.connectApple()
    const subscription = appleSubscription(stage.stores.chain)
    await stage.stores.pushApple(subscription.subscribe(Date.now() - MONTH_MS - 2 * HOUR))
    stage.stores.apple.production.lineages.push(subscription.state)
    attempted(subscription.renew(Date.now() - 2 * HOUR))
    sweeping()
    await swept()
    await stage.stores.settled()
    const { rows: purchases } = await stage.stores.api.pool.query('select id from purchases where environment = $1', [
      stage.stores.project.production,
    ])
    expect(purchases).toHaveLength(2)
  })

  test('a refund at Google Play, found in one sweep for both environments', async () => {
    await stage.stores.connectGoogle()
    const story = playStory(stage.stores.google, { token: 'token-s', order: 'GPA.9' })
    await stage.stores.pushGoogle(story.subscribe(Date.now() - DAY).body)
    await stage.stores.settled()
    story.refund(Date.now() - 30 * 60_000)
    // Answers are dated by the second: this one is of a later second than the one before.
    stage.stores.google.date = new Date(Date.now() + 2000).toUTCString()
    sweeping()
    await swept()
    await stage.stores.settled()
    expect((await rows()).map(({ platform, kind }) => [platform, kind])).toEqual([['google', 'production']])
    const { rows: purchases } = await stage.stores.api.pool.query(`select refunded_amount from purchases where environment = $1`, [
      stage.stores.project.production,
    ])
    expect(purchases).toEqual([{ refunded_amount: '9.99' }])
  })

  test('what a push has brought, and what a sweep has brought before, is not recorded again', async () => {
    await stage.stores.connectApple()
    const pushed = bought()
    await stage.stores.pushApple(pushed)
    attempted(pushed)
    for (let index = 0; index < 24; index++) attempted(bought())
    const process = sweeping()
    await swept()
    expect((await sources()).sort()).toEqual(['push', ...Array.from({ length: 24 }, () => 'sweep')])
    await later(25 * HOUR)
    process.begin()
    await swept()
    expect(await sources()).toHaveLength(25)
    await stage.stores.settled()
  })

  test('nothing counts whose signature does not hold, or that is of another app or environment', async () => {
    await stage.stores.connectApple()
    attempted(bought())
    const stranger = appleChain()
    attempted(appleSubscription(stranger).subscribe(Date.now() - HOUR))
    attempted(appleSubscription(stage.stores.chain, { environment: 'Sandbox' }).subscribe(Date.now() - HOUR))
    attempted(appleNotification(stage.stores.chain, { type: 'TEST', subtype: null, at: Date.now() - HOUR, data: {} }))
    stage.stores.apple.production.notifications.push({
      signedPayload: appleJws(stage.stores.chain, { signedDate: Date.now() }),
      isFailure: true,
    })
    sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep'])
    await stage.stores.settled()
  })

  test('an interval in which no signature holds is not behind: the roots may be wrong', async () => {
    await stage.stores.connectApple()
    attempted(appleSubscription(appleChain()).subscribe(Date.now() - HOUR))
    sweeping()
    expect((await failed()).failure).toBe('signature_invalid')
    expect(await sources()).toEqual([])
  })
})

describe('the interval', () => {
  test('stays when a page fails, and is asked for again after growing waits', async () => {
    await stage.stores.connectApple()
    for (let index = 0; index < 25; index++) attempted(bought())
    stage.stores.apple.override = ({ query }) => (query.has('paginationToken') ? { status: 500, body: {} } : null)
    const process = sweeping()
    const first = await failed()
    expect(first).toMatchObject({ attempts: 1, failure: 'http_500', done: false })
    expect(first.until).toBeGreaterThanOrEqual(DAY / 1000)
    expect(first.next).toBeGreaterThan(50)
    expect(first.next).toBeLessThanOrEqual(60)
    expect(await sources()).toHaveLength(20)
    for (const attempts of [2, 3, 4, 5, 6, 7]) {
      await stage.stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
      process.begin()
      await failed(attempts)
    }
    const last = await failed(7)
    expect(last.next).toBeGreaterThan(3500)
    expect(last.next).toBeLessThanOrEqual(3600)
    stage.stores.apple.override = null
    await stage.stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
    process.begin()
    await swept()
    expect(await sources()).toHaveLength(25)
    expect((await rows()).map(({ attempts, failure }) => [attempts, failure])).toEqual([
      [0, null],
      [0, null],
    ])
    await stage.stores.settled()
  })

  test("the store's own word on when to come back counts", async () => {
    await stage.stores.connectApple()
    stage.stores.apple.override = () => ({ status: 429, body: {}, headers: { 'retry-after': String(Date.now() + 2 * HOUR) } })
    sweeping()
    const row = await failed()
    expect(row.failure).toBe('http_429')
    expect(row.next).toBeGreaterThan(7000)
  })

  test('of several days is asked for day by day, and each day is behind when its pages are recorded', async () => {
    await stage.stores.connectApple()
    const process = sweeping()
    await swept()
    await later(4 * DAY)
    stage.stores.apple.requests.length = 0
    let ranges = 0
    stage.stores.apple.override = request => {
      if (!request.path.startsWith('/production')) return null
      ranges += 1
      return ranges > 2 ? { status: 503, body: {} } : null
    }
    process.begin()
    const row = await failed()
    expect(Math.round(row.until / 86_400)).toBe(2)
    stage.stores.apple.override = null
  })

  test('a store that refuses the credentials raises the alert, which ends with the next success', async () => {
    await stage.stores.connectApple()
    stage.stores.apple.override = () => ({ status: 401, body: 'Unauthenticated' })
    const process = sweeping()
    await until('both have failed', async () => (await rows()).filter(({ failure }) => failure === 'http_401').length === 2 || undefined)
    expect(await alerts()).toEqual(['store_credentials'])
    stage.stores.apple.override = null
    await stage.stores.api.pool.query('update store_sweeps set next_at = clock_timestamp()')
    process.begin()
    await swept()
    expect(await alerts()).toEqual([])
  })

  test('of a store that is switched off, nothing is asked', async () => {
    await stage.stores.connectApple()
    await stage.stores.api.pool.query('update store_configs set enabled = false where project = $1', [stage.stores.project.id])
    await stage.stores.connectGoogle()
    sweeping()
    await swept()
    expect((await rows()).map(({ platform }) => platform)).toEqual(['google'])
    expect(stage.stores.apple.requests).toEqual([])
  })
})

describe('what cannot be right is set aside at once, as if it had been pushed', () => {
  /** Both environments of a store may offer the same. */
  const expectSetAside = async (reason: RegExp) => {
    sweeping()
    await swept()
    await stage.stores.settled()
    const states = await stage.stores.rows()
    expect(states.length).toBeGreaterThan(0)
    for (const state of states) expect(state).toMatch(reason)
  }

  test.each(['id', 'subscription_id', 'transaction_id', 'customer_id'])('Paddle: a number as %s', async name => {
    await stage.stores.connectPaddle()
    paddlePush(stage.stores.paddle, 'transaction.completed', Date.now() - 2 * HOUR, { id: 'txn_1', [name]: 12345 })
    await expectSetAside(new RegExp(`^set_aside 1: .*must have data\\.${name} as a text`))
  })

  test.each([20 * 365 * DAY, 1e14, 7e15])('Stripe: a time %i ms ahead', async ahead => {
    await stage.stores.connectStripe()
    const body = eventBody(
      'customer.subscription.updated',
      { id: 'sub_far', object: 'subscription' },
      { at: Date.now() + ahead, id: 'evt_far' },
    )
    stage.stores.stripe.events.set('evt_far', JSON.parse(body.toString()))
    await expectSetAside(/^set_aside 1: the time of the notification lies more than ten years ahead/)
  })
})

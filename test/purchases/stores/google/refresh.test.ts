import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PlayFixture, periodsOf, playFixture, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { playStory, type StoryOptions } from '../../../harness/stores/google-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
const ORDER = 'GPA.1111-2222-3333-44444'
let fixture: PlayFixture
let token: string
let count = 0
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  token = `token-${++count}`
  fixture.google.ordersForbidden = false
  fixture.google.date = null
  fixture.google.requests.length = 0
})

const story = (options: Partial<StoryOptions> = {}) => playStory(fixture.google, { token, ...options })
/** A story's orders are the server's: each story begins with none. */
beforeEach(() => fixture.google.orders.clear())

const refresh = (queue = token) => fixture.play.refresh(queue, fixture.context)
async function known(queue = token) {
  const [report] = reportsOf(await refresh(queue))
  return { periods: periodsOf(report!.statements), renewal: renewalOf(report!.statements), report: report! }
}

test('a purchase: its order is the period, the subscription says whether it goes on', async () => {
  story({ accountId: 'user-1' }).subscribe(START)
  const { periods, renewal, report } = await known()
  expect(report).toMatchObject({ platform: 'play_store', lineage: token, aliases: [], accountId: 'user-1', notices: [], isWhole: true })
  expect(report.alerts).toBeUndefined()
  expect(periods).toEqual([
    {
      subject: ORDER,
      product: 'pro',
      basePlan: 'monthly',
      isSubscription: true,
      currency: 'EUR',
      price: '9.99',
      begins: '2026-01-01T10:00:00Z',
      ends: '2026-01-31T10:00:00Z',
      periodType: 'normal',
      isRenewal: false,
      isNewBuy: true,
      country: 'DE',
      refund: null,
      proceedsShare: '0.85',
      retrySince: null,
      graceUntil: null,
      graceOverAt: null,
    },
  ])
  expect(renewal).toEqual({ autoRenews: true, nextProduct: null, neverRenews: false, gaveUp: false })
  const [statement] = report.statements
  expect(statement).toMatchObject({ ids: { token, order: ORDER, transaction: null, originalTransaction: null, subscription: null } })
})

test('trial and renewals: all orders of the chain in one request', async () => {
  const { subscribe, renew } = story({ trialDays: 7 })
  subscribe(START)
  for (let renewals = 0; renewals < 12; renewals++) renew()
  const { periods } = await known()
  expect(periods.map(({ subject }) => subject)).toEqual([ORDER, ...Array.from({ length: 12 }, (_, index) => `${ORDER}..${index}`)])
  expect(periods[0]).toMatchObject({ price: '0', periodType: 'trial', isRenewal: false, ends: '2026-01-08T10:00:00Z' })
  expect(periods[1]).toMatchObject({ price: '9.99', periodType: 'normal', isRenewal: true, begins: '2026-01-08T10:00:00Z' })
  // Whole chains adjoin.
  for (const [index, period] of periods.slice(1).entries()) expect(period.begins).toBe(periods[index]!.ends)
  expect(fixture.google.calls()).toEqual([`purchases/subscriptionsv2/tokens/${token}`, 'orders:batchGet'])
})

test('cancelled: off at the time of the cancellation; restarted: on', async () => {
  const { subscribe, cancel, restart } = story()
  subscribe(START)
  cancel(START + 3 * DAY)
  const off = await known()
  expect(off.renewal.autoRenews).toBe(false)
  expect(off.report.statements.filter(({ kind }) => kind === 'renewal')[0]).toMatchObject({
    statedAt: START + 3 * DAY,
    reported: { autoRenews: false },
  })
  restart(START + 4 * DAY)
  expect((await known()).renewal).toMatchObject({ autoRenews: true, gaveUp: false })
})

test('grace, hold, recovery', async () => {
  const { subscribe, grace, hold, recover } = story()
  subscribe(START)
  grace()
  const end = '2026-01-31T10:00:00Z'
  const inGrace = await known()
  expect(inGrace.periods).toMatchObject([{ ends: end, retrySince: end, graceUntil: '2026-02-07T10:00:00Z' }])
  expect(inGrace.renewal).toMatchObject({ autoRenews: true, gaveUp: false })
  hold(START + 37 * DAY)
  const onHold = await known()
  expect(onHold.periods).toMatchObject([{ ends: end, retrySince: end }])
  // The grace that was is not taken back.
  expect(onHold.periods[0]).not.toHaveProperty('graceUntil')
  recover(START + 45 * DAY)
  const recovered = await known()
  expect(recovered.periods).toMatchObject([{ ends: end }, { begins: '2026-02-15T10:00:00Z', retrySince: null, graceUntil: null }])
})

test('an order long after the end of the one before it says nothing of a renewal: it comes from a pause or a hold', async () => {
  const { subscribe, renew, endsAt } = story()
  subscribe(START)
  renew(endsAt() + DAY)
  renew(endsAt() + DAY + 1000)
  expect((await known()).periods.map(({ isRenewal }) => isRenewal)).toEqual([false, true, undefined])
})

test('a hold that ends: gave up, and the period ends where its order says', async () => {
  const { subscribe, hold, expire, answer } = story()
  subscribe(START)
  hold()
  expire(START + 60 * DAY)
  answer().lineItems![0]!.expiryTime = new Date(START + 60 * DAY).toISOString()
  const { periods, renewal } = await known()
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(renewal).toMatchObject({ autoRenews: false, gaveUp: true })
})

test('a pause is no cancellation, whatever Google says of auto-renew', async () => {
  const { subscribe, answer } = story()
  subscribe(START)
  answer().subscriptionState = 'SUBSCRIPTION_STATE_PAUSED'
  answer().lineItems![0]!.autoRenewingPlan = {}
  const { renewal } = await known()
  expect(renewal).toEqual({ isPaused: true, nextProduct: null, neverRenews: false, gaveUp: false })
})

test('deferred: what is reported of the subscription counts more than the snapshot of the order, also after the renewal', async () => {
  const { subscribe, renew, answer } = story()
  subscribe(START)
  const deferred = START + 40 * DAY
  answer().lineItems![0]!.expiryTime = new Date(deferred).toISOString()
  const before = await known()
  expect(before.periods).toMatchObject([{ ends: '2026-02-10T10:00:00Z' }])
  renew(deferred)
  const after = await known()
  expect(periodsOf([...before.report.statements, ...after.report.statements])).toMatchObject([
    { ends: '2026-02-10T10:00:00Z' },
    { begins: '2026-02-10T10:00:00Z' },
  ])
})

test('prepaid never renews', async () => {
  const { subscribe, answer } = story()
  subscribe(START)
  const [{ autoRenewingPlan: _, ...line }] = answer().lineItems as [Record<string, unknown>]
  answer().lineItems = [{ ...line, prepaidPlan: {} }]
  expect((await known()).renewal).toEqual({ nextProduct: null, neverRenews: true, gaveUp: false })
})

test.each(['PENDING', 'PENDING_PURCHASE_CANCELED'])('%s is no purchase', async state => {
  const { subscribe, answer } = story()
  subscribe(START)
  answer().subscriptionState = `SUBSCRIPTION_STATE_${state}`
  expect(await refresh()).toEqual({ is: 'reports', environment: 'production', reports: [] })
})

test('an order that was never paid is no period', async () => {
  const { subscribe, renew } = story()
  subscribe(START)
  renew()
  fixture.google.orders.get(`${ORDER}..0`)!.state = 'CANCELED'
  expect((await known()).periods.filter(({ product }) => product !== undefined)).toHaveLength(1)
})

test('an unknown state says nothing, and is reported to the log', async () => {
  const { subscribe, answer } = story()
  subscribe(START)
  answer().subscriptionState = 'SUBSCRIPTION_STATE_DREAMING'
  const { periods, renewal } = await known()
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(renewal).not.toHaveProperty('gaveUp')
  expect(fixture.unknownWords).toContain('subscriptionState SUBSCRIPTION_STATE_DREAMING')
})

test('a test purchase belongs to the sandbox', async () => {
  story({ isSandbox: true }).subscribe(START)
  expect(await refresh()).toMatchObject({ environment: 'sandbox' })
})

test('orders forbidden: one period with the recurring price, which renewals prolong, and an alert', async () => {
  const { subscribe, renew } = story()
  subscribe(START)
  fixture.google.ordersForbidden = true
  const first = await known()
  renew()
  const second = await known()
  expect(first.periods).toMatchObject([{ subject: ORDER, price: '9.99', currency: 'EUR', country: 'DE', begins: '2026-01-01T10:00:00Z' }])
  expect(second.periods).toMatchObject([{ subject: ORDER, begins: '2026-01-01T10:00:00Z', ends: '2026-03-02T10:00:00Z' }])
  expect(second.report.alerts).toEqual(['google_orders_forbidden'])
})

test('orders forbidden in a grace: the period has an end, and the grace another one', async () => {
  const { subscribe, grace } = story({ trialDays: 7 })
  subscribe(START)
  fixture.google.ordersForbidden = true
  const before = await known()
  grace()
  const after = await known()
  const [period] = periodsOf([...before.report.statements, ...after.report.statements])
  expect(period).toMatchObject({ ends: '2026-01-08T10:00:00Z', graceUntil: '2026-01-15T10:00:00Z' })
})

test('orders that Google has forgotten are left out, the others are found', async () => {
  const { subscribe, renew } = story()
  subscribe(START)
  for (let renewals = 0; renewals < 40; renewals++) renew()
  for (const forgotten of [ORDER, `${ORDER}..0`, `${ORDER}..1`]) fixture.google.orders.delete(forgotten)
  const { periods } = await known()
  expect(periods).toHaveLength(38)
  expect(periods[0]!.subject).toBe(`${ORDER}..2`)
  expect(fixture.google.calls().length).toBeLessThan(20)
})

test('the order that a void names is asked for, too', async () => {
  const { subscribe, renew, answer } = story()
  subscribe(START)
  renew()
  answer().lineItems![0]!.latestSuccessfulOrderId = ORDER
  const transactions = [`${ORDER}..0`, ORDER]
  const [report] = reportsOf(await fixture.play.refresh(token, { ...fixture.context, transactions }))
  expect(periodsOf(report!.statements).map(({ subject }) => subject)).toEqual([ORDER, `${ORDER}..0`])
})

test.each([
  ['the end of the second of the answer', -60_000, (at: number) => Math.floor(at / 1000) * 1000 - 60_000 + 999],
  ['our time where theirs is over 5 min off', -301_000, (at: number) => at],
])('store time: %s', async (_, off, expected) => {
  const now = Date.parse('2026-05-01T12:00:00.250Z')
  const other = await playFixture(() => now)
  playStory(other.google, { token }).subscribe(START)
  other.google.date = new Date(now + off).toUTCString()
  const [report] = reportsOf(await other.play.refresh(token, other.context))
  expect(report!.statements[0]!.statedAt).toBe(expected(now))
  other.google.date = 'no date'
  expect(reportsOf(await other.play.refresh(token, other.context))[0]!.statements[0]!.statedAt).toBe(now)
  await other.close()
})

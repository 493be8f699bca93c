import { expect, test } from 'vitest'
import { paddleTransaction } from '../../../harness/stores/paddle-story.ts'
import { paddleStage, START } from './stage.ts'

const DAY = 86_400_000
const stage = paddleStage()
const { setNow, story, reports, known } = stage

test('a purchase: its transaction is the period, the subscription says whether it goes on', async () => {
  const { subscribe, id, latest } = story({ accountId: 'user-1' })
  subscribe(START)
  setNow(START + DAY)
  const { periods, renewal, report } = await known(id)
  expect(report).toMatchObject({ platform: 'paddle', lineage: id, aliases: [], accountId: 'user-1', notices: [], isWhole: true })
  expect(periods).toEqual([
    {
      subject: latest().id,
      product: 'pro',
      currency: 'EUR',
      price: '10',
      country: 'DE',
      refund: null,
      credits: [],
      plan: null,
      proceedsShare: '0.9',
      isSubscription: true,
      begins: '2026-01-01T10:00:00Z',
      ends: '2026-01-31T10:00:00Z',
      periodType: 'normal',
      isRenewal: false,
      retrySince: null,
    },
  ])
  expect(renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
  const [statement] = report.statements
  const ids = { transaction: latest().id, subscription: id, storeType: 'subscription', token: null, order: null, originalTransaction: null }
  // The end of the second in the `Date` header.
  expect(statement).toMatchObject({ origin: 'api', statedAt: START + DAY + 999, ids })
  expect(stage.fixture.live.calls()).toEqual([
    `/subscriptions/${id}`,
    `/transactions?order_by=id[ASC]&subscription_id=${id}&per_page=30&include=address,discount`,
    `/adjustments?order_by=id[ASC]&subscription_id=${id}&per_page=50`,
  ])
  for (const { headers } of stage.fixture.live.requests)
    expect(headers).toMatchObject({ 'paddle-version': '1', authorization: `Bearer ${stage.fixture.live.apiKey}` })
})

test('trial and renewals', async () => {
  const { subscribe, renew, id } = story({ trialDays: 7 })
  subscribe(START)
  for (let renewals = 0; renewals < 3; renewals++) renew()
  const { periods } = await known(id)
  expect(periods[0]).toMatchObject({ price: '0', periodType: 'trial', isRenewal: false, ends: '2026-01-08T10:00:00Z' })
  expect(periods[0]).not.toHaveProperty('proceedsShare')
  expect(periods[1]).toMatchObject({ price: '10', periodType: 'normal', isRenewal: true, begins: '2026-01-08T10:00:00Z' })
  for (const [index, period] of periods.slice(1).entries()) expect(period.begins).toBe(periods[index]!.ends)
})

test('a renewal that is not billed yet, or not paid yet, prolongs the last period by an hour', async () => {
  const { subscribe, bill, id, endsAt } = story()
  subscribe(START)
  const end = endsAt()
  setNow(end - 1000)
  expect((await known(id)).periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  setNow(end)
  expect((await known(id)).periods).toMatchObject([{ ends: '2026-01-31T11:00:00Z' }])
  bill()
  const billed = await known(id)
  expect(billed.periods).toMatchObject([{ ends: '2026-01-31T11:00:00Z', retrySince: null }])
  expect(billed.periods).toHaveLength(1)
})

test('at the end of what is cancelled or to be paused, nothing is prolonged', async () => {
  for (const schedule of ['scheduleCancel', 'schedulePause'] as const) {
    const { subscribe, id, endsAt, ...steps } = story()
    subscribe(START)
    steps[schedule](START + DAY)
    setNow(endsAt() + 1000)
    expect((await known(id)).periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  }
})

test('a failed charge: retry since the first attempt, and no grace; recovered: the period begins where the one before ended', async () => {
  const { subscribe, fail, recover, id, endsAt } = story()
  subscribe(START)
  const end = endsAt()
  fail()
  setNow(end + DAY)
  const failing = await known(id)
  expect(failing.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:05Z' }])
  expect(failing.periods[0]).not.toHaveProperty('graceUntil')
  expect(failing.renewal).toMatchObject({ autoRenews: true, gaveUp: false })
  recover(end + 3 * DAY)
  setNow(end + 4 * DAY)
  const recovered = await known(id)
  expect(recovered.periods).toMatchObject([
    { ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:05Z' },
    { begins: '2026-01-31T10:00:00Z', isRenewal: true, retrySince: null },
  ])
})

test('an invoice that is past due without an attempt: retry since the end', async () => {
  const { subscribe, fail, id, latest } = story()
  subscribe(START)
  fail()
  latest().payments = []
  expect((await known(id)).periods).toMatchObject([{ retrySince: '2026-01-31T10:00:00Z' }])
})

test('cancelled with the end of the period: off; taken back: on; ended: gave up', async () => {
  const { subscribe, scheduleCancel, unschedule, cancel, id, endsAt } = story()
  subscribe(START)
  scheduleCancel(START + 3 * DAY)
  expect((await known(id)).renewal).toMatchObject({ autoRenews: false, gaveUp: false })
  unschedule(START + 4 * DAY)
  expect((await known(id)).renewal).toMatchObject({ autoRenews: true })
  scheduleCancel(START + 5 * DAY)
  cancel(endsAt() + 60_000)
  setNow(endsAt() + DAY)
  const { periods, renewal } = await known(id)
  expect(renewal).toMatchObject({ autoRenews: false, gaveUp: true, nextProduct: null })
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
})

test('cancelled at once: off at that time, and the period ends', async () => {
  const { subscribe, cancel, id } = story()
  subscribe(START)
  cancel(START + 3 * DAY)
  setNow(START + 4 * DAY)
  const { periods, report } = await known(id)
  expect(periods).toMatchObject([{ ends: '2026-01-04T10:00:00Z' }])
  expect(report.statements).toContainEqual(
    expect.objectContaining({ kind: 'renewal', statedAt: START + 3 * DAY, reported: { autoRenews: false, gaveUp: true } }),
  )
})

test('all charges failed: gave up, and the end does not move', async () => {
  const { subscribe, fail, cancel, id, endsAt } = story()
  subscribe(START)
  const end = endsAt()
  fail()
  cancel(end + 20 * DAY)
  setNow(end + 21 * DAY)
  const { periods, renewal } = await known(id)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:05Z' }])
  expect(renewal).toMatchObject({ autoRenews: false, gaveUp: true })
})

test('paused: the period ends, and nothing is stated of auto-renew; resumed: a period that is not called a renewal', async () => {
  const { subscribe, pause, resume, id, endsAt } = story()
  subscribe(START)
  pause(START + 10 * DAY)
  setNow(START + 11 * DAY)
  const paused = await known(id)
  expect(paused.periods).toMatchObject([{ ends: '2026-01-11T10:00:00Z' }])
  expect(paused.renewal).toEqual({ isPaused: true, nextProduct: null, gaveUp: false })
  resume(START + 20 * DAY)
  setNow(START + 21 * DAY)
  const resumed = await known(id)
  expect(resumed.periods[1]).toMatchObject({ begins: '2026-01-21T10:00:00Z', ends: '2026-02-20T10:00:00Z' })
  expect(resumed.periods[1]).not.toHaveProperty('isRenewal')
  // The end of the pause is no end of the period before: the statement of the time of the pause goes on to count.
  const ends = resumed.report.statements.filter(
    one => one.kind === 'period' && one.subject === paused.periods[0]!.subject && one.reported.ends,
  )
  expect(ends.map(({ statedAt }) => statedAt)).toEqual([START])
  expect(endsAt()).toBe(START + 50 * DAY)
})

test('a trial that is prolonged, and one that is cut short', async () => {
  const long = story({ trialDays: 7 })
  long.subscribe(START)
  long.state().current_billing_period!.ends_at = new Date(START + 14 * DAY).toISOString()
  setNow(START + DAY)
  expect((await known(long.id)).periods).toMatchObject([{ ends: '2026-01-15T10:00:00Z' }])
  const short = story({ trialDays: 7 })
  short.subscribe(START)
  short.bill(START + 3 * DAY)
  expect((await known(short.id)).periods).toMatchObject([{ ends: '2026-01-08T10:00:00Z' }])
  short.recover(START + 3 * DAY)
  expect((await known(short.id)).periods).toMatchObject([{ ends: '2026-01-04T10:00:00Z' }, { isRenewal: true, periodType: 'normal' }])
})

test('a trial that was paused: its resumption is not called a renewal', async () => {
  const { subscribe, pause, resume, id } = story({ trialDays: 7 })
  subscribe(START)
  pause()
  resume(START + 60 * DAY)
  const { periods } = await known(id)
  expect(periods).toMatchObject([{ ends: '2026-01-08T10:00:00Z' }, { begins: '2026-03-02T10:00:00Z' }])
  expect(periods[1]).not.toHaveProperty('isRenewal')
})

test('what was never paid is no purchase', async () => {
  for (const status of ['draft', 'ready', 'billed', 'canceled', 'past_due']) {
    const { subscribe, id, latest } = story()
    subscribe(START)
    latest().status = status
    expect(await reports(id)).toEqual([])
  }
})

test('another means of payment is no charge', async () => {
  const { subscribe, id } = story()
  subscribe(START)
  const rest = { origin: 'subscription_payment_method_change', subscription_id: id, billing_period: null }
  paddleTransaction(stage.fixture.live, START + DAY, [{ product: 'pro', price: '0' }], rest)
  expect((await known(id)).periods).toHaveLength(1)
})

test('an imported subscription has the period of the subscription, under its name', async () => {
  const { subscribe, id, state, renew } = story({ items: [{ product: 'pro', price: '1000', quantity: 3 }], accountId: 'user-2' })
  subscribe(START)
  stage.fixture.live.transactions.clear()
  state().items![0]!.price!.unit_price = { amount: '500', currency_code: 'JPY' }
  const { periods, renewal, report } = await known(id)
  expect(report).toMatchObject({ lineage: id, accountId: 'user-2', isWhole: true })
  expect(periods).toEqual([
    {
      subject: id,
      product: 'pro',
      currency: 'JPY',
      price: '1500',
      isSubscription: true,
      begins: '2026-01-01T10:00:00Z',
      ends: '2026-01-31T10:00:00Z',
      periodType: 'normal',
    },
  ])
  expect(renewal).toMatchObject({ autoRenews: true })
  renew()
  expect((await known(id)).periods).toMatchObject([{ begins: '2026-01-31T10:00:00Z', isRenewal: true }])
})

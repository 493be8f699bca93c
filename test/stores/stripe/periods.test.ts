import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { periodsOf, renewalOf, reportsOf } from '../../harness/stores/google-fixture.ts'
import { type StripeFixture, stripeFixture } from '../../harness/stores/stripe-fixture.ts'
import { DAY_MS, HOUR_MS, type StoryOptions, stripeStory } from '../../harness/stores/stripe-story.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
const END = START + 30 * DAY_MS
let fixture: StripeFixture
beforeAll(async () => {
  fixture = await stripeFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.server.clear()
  fixture.clock.now = START + DAY_MS
})

const story = (options: StoryOptions = {}) => stripeStory(fixture.server, options)
/** What Stripe answers at a time. */
async function known(at: number, lane = 'sub_1') {
  fixture.clock.now = at
  const [report, ...others] = reportsOf(await fixture.store.refresh(lane, fixture.asking))
  return { periods: periodsOf(report!.statements), renewal: renewalOf(report!.statements), report: report!, others }
}

test('a purchase: its invoice is the period, the subscription says whether it goes on', async () => {
  story({ userId: 'user-1' }).subscribe(START)
  const { periods, renewal, report, others } = await known(START + HOUR_MS)
  expect(report).toMatchObject({ platform: 'stripe', lineage: 'sub_1', aliases: [], accountId: 'user-1', notices: [], isWhole: true })
  expect(others).toEqual([])
  expect(periods).toEqual([
    {
      subject: 'in_sub_1_1',
      product: 'prod_pro',
      basePlan: null,
      isSubscription: true,
      currency: 'USD',
      price: '10',
      begins: '2026-01-01T10:00:00Z',
      ends: '2026-01-31T10:00:00Z',
      periodType: 'normal',
      isRenewal: false,
      country: 'DE',
      refund: null,
      retrySince: null,
      graceUntil: null,
    },
  ])
  expect(renewal).toEqual({ autoRenews: true, gaveUp: false })
  expect(report.statements[0]).toMatchObject({
    origin: 'api',
    statedAt: START + HOUR_MS,
    ids: { transaction: null, order: 'in_sub_1_1', subscription: 'sub_1', token: null, originalTransaction: null },
  })
  expect(fixture.server.calls()).toEqual(['subscriptions/sub_1', 'invoices', 'charges'])
})

test('the API version is pinned, and the SDK says nothing about us', async () => {
  story({ userId: 'user-1' }).subscribe(START)
  await known(START)
  const { headers, query } = fixture.server.asked[0]!
  expect(headers['stripe-version']).toBe('2026-10-28.endive')
  expect(headers['x-stripe-client-telemetry']).toBeUndefined()
  expect([...query.values()]).toEqual(['customer', 'default_payment_method'])
})

test('trial and renewals', async () => {
  const one = story({ trialDays: 7 })
  one.subscribe(START)
  const trial = await known(START + DAY_MS)
  expect(trial.periods).toMatchObject([{ price: '0', periodType: 'trial', isRenewal: false, ends: '2026-01-08T10:00:00Z', refund: null }])
  // Nothing was paid that could have gone back.
  expect(fixture.server.calls()).not.toContain('charges')
  for (let renewals = 0; renewals < 3; renewals++) one.renew()
  const { periods } = await known(one.endsAt() - DAY_MS)
  expect(periods.map(({ subject }) => subject)).toEqual([1, 2, 3, 4].map(n => `in_sub_1_${n}`))
  expect(periods[1]).toMatchObject({ price: '10', periodType: 'normal', isRenewal: true, begins: '2026-01-08T10:00:00Z' })
  for (const [index, period] of periods.slice(1).entries()) expect(period.begins).toBe(periods[index]!.ends)
})

test('a trial that is prolonged ends with it', async () => {
  const one = story({ trialDays: 7 })
  one.subscribe(START)
  one.set({ trial_end: (START + 10 * DAY_MS) / 1000 })
  expect((await known(START + DAY_MS)).periods).toMatchObject([{ periodType: 'trial', ends: '2026-01-11T10:00:00Z' }])
})

test('a renewal whose invoice is a draft: the last period ends an hour after it is finalised, until it is paid or fails', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  const draft = await known(END + 60_000)
  expect(draft.periods).toMatchObject([{ ends: '2026-01-31T12:00:00Z', retrySince: null }])
  expect(draft.renewal).toEqual({ autoRenews: true, gaveUp: false })
  one.setInvoice(one.latest(), {
    status: 'open',
    automatically_finalizes_at: null,
    status_transitions: { finalized_at: END / 1000 + 3600 },
  })
  expect((await known(END + HOUR_MS)).periods).toMatchObject([{ ends: '2026-01-31T12:00:00Z' }])
  one.pay(END + HOUR_MS)
  const { periods } = await known(END + HOUR_MS + 1000)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }, { begins: '2026-01-31T10:00:00Z', isRenewal: true }])
})

test('a renewal that fails: retry from the end on without grace, then recovered', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  const failing = await known(END + 2 * HOUR_MS)
  const end = '2026-01-31T10:00:00Z'
  expect(failing.periods).toMatchObject([{ ends: end, retrySince: end, graceUntil: null }])
  expect(failing.renewal).toEqual({ autoRenews: true, gaveUp: false })
  one.pay(END + 3 * DAY_MS)
  const { periods } = await known(END + 3 * DAY_MS)
  expect(periods).toMatchObject([
    { begins: '2026-01-01T10:00:00Z', ends: end },
    { begins: end, isRenewal: true, isRecovered: true, retrySince: null },
  ])
  expect(periods[0]).not.toHaveProperty('retrySince')
})

test('a charge in the middle of a period that fails is no billing retry', async () => {
  const one = story()
  one.subscribe(START)
  one.set({ status: 'past_due' })
  const { periods } = await known(START + 5 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(periods[0]).not.toHaveProperty('retrySince')
})

test('unpaid: gave up, with the retry that was', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  one.set({ status: 'unpaid' })
  const { periods, renewal } = await known(END + 20 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:00Z' }])
  expect(renewal).toEqual({ autoRenews: true, gaveUp: true })
})

test('an invoice that is given up as uncollectible: gave up', async () => {
  const one = story()
  one.subscribe(START)
  one.draft()
  one.fail(END + HOUR_MS)
  one.setInvoice(one.latest(), { status: 'uncollectible' })
  expect((await known(END + 20 * DAY_MS)).renewal).toEqual({ autoRenews: true, gaveUp: true })
})

test('cancelled: off at the time of the cancellation; restarted: on', async () => {
  const one = story()
  one.subscribe(START)
  one.cancel(START + 3 * DAY_MS)
  const off = await known(START + 4 * DAY_MS)
  expect(off.renewal).toEqual({ autoRenews: false, gaveUp: false })
  expect(off.report.statements.filter(({ kind }) => kind === 'renewal')[0]).toMatchObject({
    statedAt: START + 3 * DAY_MS,
    subject: '',
    said: { autoRenews: false },
  })
  expect(off.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  one.restart(START + 5 * DAY_MS)
  expect((await known(START + 6 * DAY_MS)).renewal).toEqual({ autoRenews: true, gaveUp: false })
})

test('ended with its period, at once, or after a retry that failed', async () => {
  const [atEnd, atOnce, failed] = ['sub_1', 'sub_2', 'sub_3'].map(id => story({ id }))
  for (const one of [atEnd!, atOnce!, failed!]) one.subscribe(START)
  atEnd!.cancel(START + DAY_MS)
  atEnd!.end()
  const ended = await known(END + DAY_MS)
  expect(ended.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(ended.renewal).toEqual({ autoRenews: false, gaveUp: true })
  expect(ended.report.statements.filter(({ kind }) => kind === 'renewal').map(({ statedAt }) => statedAt)).toEqual([
    START + DAY_MS,
    END,
    END + DAY_MS,
  ])
  atOnce!.end(START + 5 * DAY_MS)
  expect((await known(END, 'sub_2')).periods).toMatchObject([{ ends: '2026-01-06T10:00:00Z' }])
  failed!.draft()
  failed!.fail(END + HOUR_MS)
  failed!.end(END + 20 * DAY_MS)
  const given = await known(END + 21 * DAY_MS, 'sub_3')
  expect(given.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z', retrySince: '2026-01-31T10:00:00Z' }])
  expect(given.renewal.gaveUp).toBe(true)
})

test('collection is paused: no cancellation and no failure, the period ends; the first period after it is no proof of a failed charge', async () => {
  const one = story()
  one.subscribe(START)
  one.pause(START + DAY_MS)
  one.pausedPeriod()
  const paused = await known(END + DAY_MS)
  expect(paused.renewal).toEqual({ gaveUp: false })
  expect(paused.periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  expect(paused.periods[0]).not.toHaveProperty('retrySince')
  one.resume(END + 2 * DAY_MS)
  one.renew()
  const { periods, renewal } = await known(END + 40 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }, { begins: '2026-03-02T10:00:00Z' }])
  expect(periods[1]).not.toHaveProperty('isRenewal')
  expect(renewal).toEqual({ autoRenews: true, gaveUp: false })
})

test('a subscription whose trial ended without a payment method is paused, too', async () => {
  const one = story({ trialDays: 7 })
  one.subscribe(START)
  one.set({ status: 'paused' })
  const { periods, renewal } = await known(START + 8 * DAY_MS)
  expect(periods).toMatchObject([{ ends: '2026-01-08T10:00:00Z' }])
  expect(renewal).toEqual({ gaveUp: false })
})

test.each(['incomplete', 'incomplete_expired'])('%s is no purchase, and nothing else is asked for', async status => {
  const one = story()
  one.subscribe(START)
  one.set({ status })
  expect(await fixture.store.refresh('sub_1', fixture.asking)).toEqual({ is: 'reports', environment: 'production', reports: [] })
  expect(fixture.server.calls()).toEqual(['subscriptions/sub_1'])
})

test('test mode is the sandbox, and live mode does not know it', async () => {
  story({ livemode: false }).subscribe(START)
  expect(await fixture.store.refresh('sub_1', { ...fixture.asking, environment: 'sandbox' })).toMatchObject({ environment: 'sandbox' })
  expect(await fixture.store.refresh('sub_1', fixture.asking)).toEqual({ is: 'unknown' })
})

test('long lists are read to their end: invoices, their lines and payments', async () => {
  const items = Array.from({ length: 5 }, (_, n) => ({ id: `si_${n}`, product: `prod_${n}`, amount: 100 }))
  const one = story({ items })
  one.subscribe(START)
  for (let renewals = 0; renewals < 6; renewals++) one.renew()
  Object.assign(fixture.server, { pageSize: 2, innerSize: 2 })
  const { report, others } = await known(one.endsAt() - DAY_MS)
  expect([report, ...others].map(({ statements }) => periodsOf(statements).length)).toEqual([7, 7, 7, 7, 7])
  expect(report.isWhole).toBe(true)
})

test('the account: of the subscription, else of the customer, else of the checkout', async () => {
  const one = story()
  one.subscribe(START)
  const account = async () => (await known(START)).report.accountId
  expect(await account()).toBeNull()
  fixture.server.checkouts.set('cs_1', { id: 'cs_1', subscription: 'sub_1', client_reference_id: 'user-3' } as never)
  expect(await account()).toBe('user-3')
  fixture.server.instead = ({ path }) => (path.includes('checkout') ? { status: 403 } : undefined)
  expect(await account()).toBeNull()
  fixture.server.customers.set(one.customer, { ...fixture.server.customers.get(one.customer)!, metadata: { user_id: 'user-2' } })
  expect(await account()).toBe('user-2')
  one.set({ metadata: { user_id: 'user-1' } })
  expect(await account()).toBe('user-1')
})

test('the country: of the customer, else of the card', async () => {
  const one = story({ country: null, userId: 'user-1' })
  one.subscribe(START)
  const country = async () => (await known(START)).periods[0]!.country
  expect(await country()).toBe('FR')
  fixture.server.customers.set(one.customer, { ...fixture.server.customers.get(one.customer)!, address: { country: 'AT' } } as never)
  expect(await country()).toBe('AT')
  one.setInvoice(one.latest(), { customer_address: { country: 'CH' } })
  expect(await country()).toBe('CH')
})

test('a customer who was deleted is no hindrance', async () => {
  const one = story({ userId: 'user-1' })
  one.subscribe(START)
  fixture.server.customers.clear()
  expect((await known(START)).periods).toMatchObject([{ price: '10', country: 'DE' }])
})

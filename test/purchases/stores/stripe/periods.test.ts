import { expect, test } from 'vitest'
import { periodsOf } from '../../../harness/stores/google-fixture.ts'
import { DAY_MS, HOUR_MS } from '../../../harness/stores/stripe-story.ts'
import { START, stripeStage } from './stage.ts'

const stage = stripeStage()
const { story, known } = stage

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
      credits: [],
      plan: null,
      retrySince: null,
      graceUntil: null,
    },
  ])
  expect(renewal).toEqual({ autoRenews: true, isPaused: false, nextProduct: null, gaveUp: false })
  expect(report.statements[0]).toMatchObject({
    origin: 'api',
    statedAt: START + HOUR_MS,
    ids: { transaction: null, order: 'in_sub_1_1', subscription: 'sub_1', token: null, originalTransaction: null },
  })
  expect(stage.fixture.server.calls()).toEqual(['subscriptions/sub_1', 'invoices', 'charges'])
})

test('the API version is pinned, and the SDK says nothing about us', async () => {
  story({ userId: 'user-1' }).subscribe(START)
  await known(START)
  const { headers, query } = stage.fixture.server.requests[0]!
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
  expect(stage.fixture.server.calls()).not.toContain('charges')
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

test('a trial that is shortened ends earlier, and its first charge may fail', async () => {
  const one = story({ trialDays: 7 })
  one.subscribe(START)
  const shortened = START + 3 * DAY_MS
  one.set({ trial_end: shortened / 1000, status: 'past_due' })
  const failed = one.invoice(shortened, 'subscription_cycle', [
    { item: 'si_1', product: 'prod_pro', amount: 1000, begins: shortened / 1000, ends: shortened / 1000 + 86_400 },
  ])
  one.setInvoice(failed, { status: 'open', attempt_count: 1, automatically_finalizes_at: null })
  const end = '2026-01-04T10:00:00Z'
  expect((await known(START + 4 * DAY_MS)).periods).toMatchObject([{ ends: end, retrySince: end }])
})

test.each(['incomplete', 'incomplete_expired'])('%s is no purchase, and nothing else is asked for', async status => {
  const one = story()
  one.subscribe(START)
  one.set({ status })
  expect(await stage.fixture.store.refresh('sub_1', stage.fixture.context)).toEqual({
    is: 'reports',
    environment: 'production',
    reports: [],
  })
  expect(stage.fixture.server.calls()).toEqual(['subscriptions/sub_1'])
})

test('test mode is the sandbox, and live mode does not know it', async () => {
  story({ livemode: false }).subscribe(START)
  expect(await stage.fixture.store.refresh('sub_1', { ...stage.fixture.context, environment: 'sandbox' })).toMatchObject({
    environment: 'sandbox',
  })
  expect(await stage.fixture.store.refresh('sub_1', stage.fixture.context)).toMatchObject({ is: 'unknown' })
})

test('long lists are read to their end: invoices, their lines and payments', async () => {
  const items = Array.from({ length: 5 }, (_, n) => ({ id: `si_${n}`, product: `prod_${n}`, amount: 100 }))
  const one = story({ items })
  one.subscribe(START)
  for (let renewals = 0; renewals < 6; renewals++) one.renew()
  Object.assign(stage.fixture.server, { pageSize: 2, innerSize: 2 })
  const { report, others } = await known(one.endsAt() - DAY_MS)
  expect([report, ...others].map(({ statements }) => periodsOf(statements).length)).toEqual([7, 7, 7, 7, 7])
  expect(report.isWhole).toBe(true)
})

test('the account: of the subscription, else of the customer, else of the checkout', async () => {
  const one = story()
  one.subscribe(START)
  const account = async () => (await known(START)).report.accountId
  expect(await account()).toBeNull()
  stage.fixture.server.checkouts.set('cs_1', { id: 'cs_1', subscription: 'sub_1', client_reference_id: 'user-3' } as never)
  expect(await account()).toBe('user-3')
  stage.fixture.server.instead = ({ path }) => (path.includes('checkout') ? { status: 403 } : undefined)
  expect(await account()).toBeNull()
  stage.fixture.server.customers.set(one.customer, {
    ...stage.fixture.server.customers.get(one.customer)!,
    metadata: { user_id: 'user-2' },
  })
  expect(await account()).toBe('user-2')
  one.set({ metadata: { user_id: 'user-1' } })
  expect(await account()).toBe('user-1')
})

test('the country: of the customer, else of the card', async () => {
  const one = story({ country: null, userId: 'user-1' })
  one.subscribe(START)
  const country = async () => (await known(START)).periods[0]!.country
  expect(await country()).toBe('FR')
  stage.fixture.server.customers.set(one.customer, {
    ...stage.fixture.server.customers.get(one.customer)!,
    address: { country: 'AT' },
  } as never)
  expect(await country()).toBe('AT')
  one.setInvoice(one.latest(), { customer_address: { country: 'CH' } })
  expect(await country()).toBe('CH')
})

test('a customer who was deleted is no hindrance', async () => {
  const one = story({ userId: 'user-1' })
  one.subscribe(START)
  stage.fixture.server.customers.clear()
  expect((await known(START)).periods).toMatchObject([{ price: '10', country: 'DE' }])
})

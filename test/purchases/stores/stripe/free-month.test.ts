import type Stripe from 'stripe'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dailyChart } from '../../../harness/daily-chart.ts'
import { type ReachedStores, startStores } from '../../../harness/stores/reached-stores.ts'
import { stripeStory } from '../../../harness/stores/stripe-story.ts'

// A month within a paid subscription that a coupon makes free: MRR is that of the plan if the coupon is for this invoice alone.

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const couponOf = (duration: Stripe.Coupon.Duration, id = 'di_1') =>
  ({ id, object: 'discount', source: { type: 'coupon', coupon: { id: 'free', object: 'coupon', duration } } }) as unknown as Stripe.Discount

/** The last days of the charts: while the first month is paid, and in the free month. */
const chartOf = (code: string, key: string) => dailyChart(stores.api, key, code, 20)

async function newStory() {
  await stores.connectStripe()
  const { id: userId } = await stores.user()
  return stripeStory(stores.stripe, { userId, items: [{ id: 'si_1', product: 'prod_basic', amount: 1000 }] })
}

/** The latest invoice costs nothing. `discounted`: ids of the discounts of its lines. */
function makeFree(story: ReturnType<typeof stripeStory>, discounts: Stripe.Discount[], discounted: string[]): void {
  const { lines } = story.latest()
  const discount_amounts = discounted.map(discount => ({ amount: 1000 / discounted.length, discount }))
  story.setInvoice(story.latest(), {
    ...{ amount_due: 0, total: 0, discounts },
    lines: { ...lines, data: lines.data.map(line => ({ ...line, discount_amounts })) },
  })
}

test.each<[string, discounts: Stripe.Discount[], discounted: string[], mrr: number]>([
  ['for one invoice', [couponOf('once')], ['di_1'], 10],
  ['for one invoice, twice', [couponOf('once'), couponOf('once', 'di_2')], ['di_1', 'di_2'], 10],
  ['for ever', [couponOf('forever')], ['di_1'], 0],
  ['for some months', [couponOf('repeating')], ['di_1'], 0],
  ['for one invoice, and another one for ever', [couponOf('once'), couponOf('forever', 'di_2')], ['di_1', 'di_2'], 0],
  ['that the invoice does not name', [], ['di_1'], 0],
])('a coupon %s', async (_, discounts, discounted, mrr) => {
  const story = await newStory()
  story.subscribe(Date.now() - 40 * DAY)
  story.draft()
  makeFree(story, discounts, discounted)
  expect(await stores.pushStripe(story.pay(Date.now() - 10 * DAY).body)).toBe(200)
  await stores.settled()
  const { secret } = stores.project
  const figures = (await chartOf('mrr', secret)).MRR!
  expect([figures[0], figures.at(-1)]).toEqual([10, mrr])
  expect(mrr === 0 || figures.every(value => value === 10)).toBe(true)
  const movement = await chartOf('paid-subscriptions-movement', secret)
  expect(movement.Churned?.filter(Boolean) ?? []).toEqual([])
  expect(
    Object.values(await chartOf('sales', secret))
      .flat()
      .filter(Boolean),
  ).toEqual([])
})

test('a first month that is free has no MRR: nobody has paid yet', async () => {
  const story = await newStory()
  const { body } = story.subscribe(Date.now() - 10 * DAY)
  makeFree(story, [couponOf('once')], ['di_1'])
  expect(await stores.pushStripe(body)).toBe(200)
  await stores.settled()
  expect(await stores.events()).toEqual(['subscription_started'])
  expect((await chartOf('mrr', stores.project.secret)).MRR?.filter(Boolean) ?? []).toEqual([])
})

test('a key without permission for coupons: a free month has no MRR, and the rest works', async () => {
  stores.stripe.instead = ({ query }) => ([...query.values()].includes('data.discounts.source.coupon') ? { status: 403 } : undefined)
  const story = await newStory()
  story.subscribe(Date.now() - 40 * DAY)
  story.draft()
  makeFree(story, [couponOf('once')], ['di_1'])
  expect(await stores.pushStripe(story.pay(Date.now() - 10 * DAY).body)).toBe(200)
  await stores.settled()
  expect(await stores.events()).toEqual(['subscription_started', 'subscription_renewed'])
  const figures = (await chartOf('mrr', stores.project.secret)).MRR!
  expect([figures[0], figures.at(-1)]).toEqual([10, 0])
})

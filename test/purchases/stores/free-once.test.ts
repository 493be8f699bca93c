import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dailyChart } from '../../harness/daily-chart.ts'
import { appleSubscription, MONTH_MS } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'

// A free month within a paid subscription: MRR is that of the plan where the store says that the discount is for this month alone.

const DAY = 86_400_000
let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  Object.assign(stores.paddle, { forbidden: [], discounts: new Map() })
})

/** The paid month began 40 days ago. What the charts show: MRR before and in the free month. */
async function expectFigures(mrr: [number, number]): Promise<void> {
  await stores.settled()
  const { secret } = stores.project
  const figures = (await dailyChart(stores.api, secret, 'mrr', 20)).MRR!
  expect([figures[0], figures.at(-1)]).toEqual(mrr)
  if (mrr[0] === mrr[1]) expect(figures.every(value => value === mrr[0])).toBe(true)
  const movement = await dailyChart(stores.api, secret, 'paid-subscriptions-movement', 20)
  expect(movement.Churned?.filter(Boolean) ?? []).toEqual([])
  const trials = await dailyChart(stores.api, secret, 'free-trials', 20)
  expect(Object.values(trials).flat().filter(Boolean)).toEqual([])
  expect(await stores.events()).toEqual(['subscription_started', 'subscription_renewed'])
}

test('App Store: a free offer is for one period', async () => {
  await stores.connectApple()
  const begun = Date.now() - 40 * DAY
  const { account } = await stores.user()
  const { subscribe, renew, state } = appleSubscription(stores.chain, { account })
  stores.apple.production.lineages.push(state)
  expect(await stores.pushApple(subscribe(begun))).toBe(200)
  const offer = { price: 0, offerType: 2, offerIdentifier: 'stay', offerDiscountType: 'FREE_TRIAL', offerPeriod: 'P1M' }
  expect(await stores.pushApple(renew(begun + MONTH_MS, offer))).toBe(200)
  await expectFigures([9.99, 9.99])
})

test.each<[string, used: object, mrr: number]>([
  ['that Play Points pay for', { pointsDetails: { pointsOfferId: 'offer', pointsDiscountRateMicros: '500000' } }, 9.99],
  ['whose promotion does not say for how long', {}, 0],
])('Google Play: a month %s', async (_, used, mrr) => {
  await stores.connectGoogle()
  const { id: accountId } = await stores.user()
  const story = playStory(stores.google, { token: `free-${mrr}`, accountId, currency: 'USD' })
  story.subscribe(Date.now() - 40 * DAY)
  const { body } = story.renew()
  const { orders } = stores.google
  const order = orders.get(story.latestOrder())!
  const nothing = { currencyCode: 'USD' }
  orders.set(story.latestOrder(), { ...order, ...used, total: nothing, lineItems: [{ ...order.lineItems![0]!, total: nothing }] })
  expect(await stores.pushGoogle(body)).toBe(200)
  await expectFigures([9.99, mrr])
})

test.each<[string, discount: { recur: boolean } | null, forbidden: ('address' | 'discount')[], mrr: number]>([
  ['for one period', { recur: false }, [], 11.9],
  ['for one period, and the key may not read addresses', { recur: false }, ['address'], 0],
  ['that the key may not read', { recur: false }, ['discount'], 0],
  ['that recurs', { recur: true }, [], 0],
  ['that is not told', null, [], 0],
])('Paddle: a discount %s', async (_, discount, forbidden, mrr) => {
  await stores.connectPaddle()
  stores.paddle.forbidden = forbidden
  const { id: accountId } = await stores.user()
  const story = paddleStory(stores.paddle, { accountId, currency: 'USD', items: [{ product: 'pro', price: '1190' }] })
  story.subscribe(Date.now() - 40 * DAY)
  const pushes = story.renew()
  const latest = story.latest()
  const line = latest.details!.line_items![0]!
  Object.assign(line, { tax_rate: '0.19', totals: { subtotal: '1000', discount: '1000', tax: '0', total: '0' } })
  if (discount) stores.paddle.discounts.set(latest.id, discount)
  for (const { body } of pushes) expect(await stores.pushPaddle(body)).toBe(200)
  await expectFigures([11.9, mrr])
})

test('Paddle: a first month that a discount makes free has no MRR: nobody has paid yet', async () => {
  await stores.connectPaddle()
  const { id: accountId } = await stores.user()
  const story = paddleStory(stores.paddle, { accountId, currency: 'USD' })
  const pushes = story.subscribe(Date.now() - 10 * DAY)
  Object.assign(story.latest().details!.line_items![0]!, { totals: { subtotal: '1000', discount: '1000', total: '0' } })
  stores.paddle.discounts.set(story.latest().id, { recur: false })
  for (const { body } of pushes) expect(await stores.pushPaddle(body)).toBe(200)
  await stores.settled()
  expect(await stores.events()).toEqual(['subscription_started'])
  expect((await dailyChart(stores.api, stores.project.secret, 'mrr', 20)).MRR?.filter(Boolean) ?? []).toEqual([])
})

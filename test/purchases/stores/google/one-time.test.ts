import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { OneTimeAnswer, Order } from '../../../../workflows/stores/google/answers.ts'
import { type PlayFixture, periodsOf, playFixture, reportsOf } from '../../../harness/stores/google-fixture.ts'

let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.ordersForbidden = false
  fixture.google.oneTimes.clear()
  fixture.google.orders.clear()
})

const BOUGHT = '2026-02-03T04:05:06.789Z'
const usd = (units: string, nanos = 0) => ({ currencyCode: 'USD', units, nanos })

function buy(more: OneTimeAnswer = {}, order: Order = {}) {
  fixture.google.oneTimes.set('coins', {
    orderId: 'GPA.5',
    regionCode: 'AT',
    purchaseCompletionTime: BOUGHT,
    purchaseStateContext: { purchaseState: 'PURCHASED' },
    productLineItem: [{ productId: 'coins_100' }],
    obfuscatedExternalAccountId: 'user-5',
    ...more,
  })
  fixture.google.orders.set('GPA.5', {
    orderId: 'GPA.5',
    purchaseToken: 'coins',
    state: 'PROCESSED',
    createTime: BOUGHT,
    buyerAddress: { buyerCountry: 'US' },
    total: usd('5', 990_000_000),
    developerRevenueInBuyerCurrency: usd('3', 990_000_000),
    lineItems: [{ productId: 'coins_100', total: usd('5', 990_000_000) }],
    ...order,
  })
}
const refresh = () => fixture.play.refresh('coins', fixture.context)
const periods = async () => reportsOf(await refresh()).flatMap(({ statements }) => periodsOf(statements))

test('a purchase for good', async () => {
  buy()
  expect(await refresh()).toMatchObject({ environment: 'production', reports: [{ lineage: 'coins', accountId: 'user-5', isWhole: true }] })
  expect(await periods()).toEqual([
    {
      subject: 'GPA.5',
      product: 'coins_100',
      basePlan: null,
      isSubscription: false,
      currency: 'USD',
      price: '5.99',
      begins: '2026-02-03T04:05:06Z',
      ends: null,
      periodType: null,
      country: 'US',
      refund: null,
      proceedsShare: '0.66611',
    },
  ])
})

test('several in one purchase: the price is that of all', async () => {
  buy({}, { total: usd('17', 970_000_000), lineItems: [{ productId: 'coins_100', total: usd('17', 970_000_000) }] })
  expect(await periods()).toMatchObject([{ price: '17.97' }])
})

test('refunded in part, and as a whole', async () => {
  const part = { createTime: BOUGHT, processTime: '2026-02-04T00:00:00Z', state: 'PROCESSED', refundDetails: { total: usd('2') } }
  buy({}, { state: 'PARTIALLY_REFUNDED', orderHistory: { partialRefundEvents: [part] } })
  expect(await periods()).toMatchObject([{ refund: { at: '2026-02-04T00:00:00Z', amount: '2' } }])
  buy({}, { state: 'REFUNDED', orderHistory: { refundEvent: { eventTime: '2026-02-05T00:00:00Z' } } })
  expect(await periods()).toMatchObject([{ refund: { at: '2026-02-05T00:00:00Z', amount: null } }])
})

test.each<[string, OneTimeAnswer]>([
  ['pending', { purchaseStateContext: { purchaseState: 'PENDING' } }],
  ['given up while pending', { purchaseStateContext: { purchaseState: 'CANCELLED' }, purchaseCompletionTime: undefined }],
])('%s: no purchase', async (_, state) => {
  buy(state)
  expect(await refresh()).toMatchObject({ is: 'reports', reports: [] })
})

test('a license tester buys in the sandbox', async () => {
  buy({ testPurchaseContext: {} })
  expect(await refresh()).toMatchObject({ environment: 'sandbox' })
})

test('orders forbidden: no price, an alert, and a cancelled purchase is taken back', async () => {
  buy()
  fixture.google.ordersForbidden = true
  const [report] = reportsOf(await refresh())
  expect(report!.alerts).toEqual(['google_orders_forbidden'])
  const [period] = periodsOf(report!.statements)
  expect(period).toMatchObject({ product: 'coins_100', country: 'AT' })
  expect(period).not.toHaveProperty('price')
  expect(period).not.toHaveProperty('refund')
  buy({ purchaseStateContext: { purchaseState: 'CANCELLED' } })
  expect(await periods()).toMatchObject([{ refund: { amount: null } }])
})

test('without order, as a promotion code gives it: named by its token', async () => {
  buy({ orderId: undefined })
  expect(await periods()).toMatchObject([{ subject: 'coins', product: 'coins_100' }])
})

test('two products: the second is a lineage of its own', async () => {
  buy(
    { productLineItem: [{ productId: 'coins_100' }, { productId: 'gems' }] },
    {
      lineItems: [
        { productId: 'coins_100', total: usd('4') },
        { productId: 'gems', total: usd('1', 990_000_000) },
      ],
    },
  )
  const found = reportsOf(await refresh())
  expect(found.map(({ lineage }) => lineage)).toEqual(['coins', 'coins:gems'])
  expect(found.flatMap(({ statements }) => periodsOf(statements))).toMatchObject([
    { subject: 'GPA.5', price: '4' },
    { subject: 'GPA.5:gems', price: '1.99' },
  ])
})

test('an unknown state is reported to the log', async () => {
  buy({ purchaseStateContext: { purchaseState: 'LENT' } })
  expect(await periods()).toHaveLength(1)
  expect(fixture.unknownWords).toContain('purchaseState LENT')
})

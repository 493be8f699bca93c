import type { CurrencyCode } from '@paddle/paddle-node-sdk'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { paddlePrice, paddleShare, UnknownCurrency } from '../../../../workflows/stores/paddle/money.ts'
import { periodsOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type PaddleFixture, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { paddleStory, paddleTransaction, type StoryItem } from '../../../harness/stores/paddle-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PaddleFixture
beforeAll(async () => {
  fixture = await paddleFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  for (const kind of [fixture.live.subscriptions, fixture.live.transactions, fixture.live.adjustments]) kind.clear()
})
const reports = async (queue: string) => reportsOf(await fixture.paddle.refresh(queue, fixture.context))
const periods = async (queue: string) => (await reports(queue)).flatMap(({ statements }) => periodsOf(statements))
const once = (items: StoryItem[], rest = {}) =>
  paddleTransaction(
    fixture.live,
    START,
    items.map(item => ({ ...item, isOnce: true })),
    rest,
  )

/** Every currency of the SDK, so that a new one is missed here first. */
const PLACES: Record<CurrencyCode, number> = {
  ...{ USD: 2, EUR: 2, GBP: 2, AUD: 2, CAD: 2, CHF: 2, HKD: 2, SGD: 2, SEK: 2, ARS: 2, BRL: 2, CNY: 2, COP: 2, CZK: 2, DKK: 2, HUF: 2 },
  ...{ ILS: 2, INR: 2, MXN: 2, NOK: 2, NZD: 2, PEN: 2, PLN: 2, RUB: 2, THB: 2, TRY: 2, TWD: 2, UAH: 2, ZAR: 2 },
  ...{ JPY: 0, KRW: 0, CLP: 0, VND: 0 },
}

test.each(Object.entries(PLACES))('%s has %i decimal places', (currency, places) => {
  expect(paddlePrice(123_400n, currency)).toBe(places === 2 ? '1234' : '123400')
  expect(paddlePrice(7n, currency)).toBe(places === 2 ? '0.07' : '7')
  expect(paddlePrice(0n, currency)).toBe('0')
})

test.each([undefined, '', 'XTS', 'toString', 'usd'])('the currency %s is not known', currency => {
  expect(() => paddlePrice(1n, currency)).toThrow(UnknownCurrency)
})

test.each<[object | null, string | undefined]>([
  [{ earnings: '900', grand_total: '1000' }, '0.9'],
  [{ earnings: '1', grand_total: '3' }, '0.333333'],
  [{ earnings: '0', grand_total: '3' }, '0'],
  [{ earnings: null, grand_total: '1000' }, undefined],
  [{ earnings: '0', grand_total: '0' }, undefined],
  [{ earnings: '-1', grand_total: '100' }, undefined],
  [{ earnings: '101', grand_total: '100' }, undefined],
  [null, undefined],
])('the proceeds rate of %j is %s', (totals, share) => expect(paddleShare(totals)).toBe(share))

test.each([
  ['JPY', '1500', '1500'],
  ['KRW', '9900', '9900'],
  ['USD', '2997', '29.97'],
])('a subscription in %s, of a quantity of three', async (currency, price, shown) => {
  const { subscribe, id } = paddleStory(fixture.live, { currency, items: [{ product: 'pro', price, quantity: 3 }] })
  subscribe(START)
  expect(await periods(id)).toMatchObject([{ currency, price: shown }])
})

test('a one-time purchase: one period for each product, each a lineage of its own', async () => {
  const { id } = once(
    [
      { product: 'coins', price: '150' },
      { product: 'gems', price: '250' },
    ],
    { custom_data: { user_id: 'user-1' } },
  )
  const found = await reports(id)
  expect(found).toMatchObject([
    { platform: 'paddle', lineage: id, accountId: 'user-1', isWhole: true },
    { platform: 'paddle', lineage: `${id}:gems`, accountId: 'user-1', isWhole: true },
  ])
  const common = { currency: 'EUR', country: 'DE', refund: null, proceedsShare: '0.9', isSubscription: false, ends: null, periodType: null }
  expect(await periods(id)).toEqual([
    { subject: id, product: 'coins', price: '1.5', begins: '2026-01-01T10:00:00Z', ...common },
    { subject: `${id}:gems`, product: 'gems', price: '2.5', begins: '2026-01-01T10:00:00Z', ...common },
  ])
  const ids = found.flatMap(({ statements }) => statements.map(one => (one.kind === 'period' ? one.ids : null)))
  expect(ids).toMatchObject([
    { transaction: id, subscription: null, storeType: 'non_recurring' },
    { transaction: `${id}:gems`, subscription: null, storeType: 'non_recurring' },
  ])
})

test.each(['draft', 'ready', 'billed', 'canceled', 'past_due'])('a one-time purchase counts from paid on, not when %s', async status => {
  expect(await reports(once([{ product: 'coins', price: '150' }], { status }).id)).toEqual([])
})
test('paid, and not completed yet', async () => {
  expect(await periods(once([{ product: 'coins', price: '150' }], { status: 'paid' }).id)).toMatchObject([{ price: '1.5' }])
})

test('two lines of one product are one purchase', async () => {
  const { id, details } = once([
    { product: 'coins', price: '150' },
    { product: 'coins', price: '100' },
  ])
  details!.line_items![1]!.proration = { billing_period: null }
  expect(await periods(id)).toMatchObject([{ subject: id, price: '2.5' }])
})

test('parts are given back until all is', async () => {
  const { subscribe, refund, id, latest } = paddleStory(fixture.live)
  subscribe(START)
  expect(await periods(id)).toMatchObject([{ refund: null }])
  refund(START + DAY, '333')
  expect(await periods(id)).toMatchObject([{ refund: { at: '2026-01-02T10:00:00Z', amount: '3.33' } }])
  refund(START + 2 * DAY, '333')
  expect(await periods(id)).toMatchObject([{ refund: { at: '2026-01-03T10:00:00Z', amount: '6.66' } }])
  refund(START + 3 * DAY, '334')
  expect(await periods(id)).toMatchObject([
    {
      refund: {
        at: '2026-01-04T10:00:00Z',
        amount: null,
        parts: [
          { at: '2026-01-02T10:00:00Z', amount: '3.33' },
          { at: '2026-01-03T10:00:00Z', amount: '3.33' },
          { at: '2026-01-04T10:00:00Z', amount: '3.34' },
        ],
      },
    },
  ])
  expect(latest().id).toBe((await periods(id))[0]!.subject)
})

test('each product has its own part', async () => {
  const { subscribe, refund, id } = paddleStory(fixture.live, {
    currency: 'JPY',
    items: [
      { product: 'pro', price: '1000' },
      { product: 'setup', price: '500', isOnce: true },
    ],
  })
  subscribe(START)
  refund(START + DAY, '200', { product: 'setup' })
  const refunds = Object.fromEntries((await periods(id)).map(({ product, refund }) => [product, refund]))
  expect(refunds).toEqual({
    pro: null,
    setup: { at: '2026-01-02T10:00:00Z', amount: '200', parts: [{ at: '2026-01-02T10:00:00Z', amount: '200' }] },
  })
})

test.each([
  ['pending', { status: 'pending_approval' }],
  ['rejected', { status: 'rejected' }],
  ['a refund that was reversed', { status: 'reversed' }],
  ['a credit', { action: 'credit' }],
  ['a credit that is taken back', { action: 'credit_reverse' }],
  ['a warning', { action: 'chargeback_warning' }],
  ['a warning that is taken back', { action: 'chargeback_warning_reverse' }],
  ['an action nobody knows', { action: 'gift' }],
])('nothing is given back: %s', async (_, rest) => {
  const { subscribe, refund, id } = paddleStory(fixture.live)
  subscribe(START)
  refund(START + DAY, null, rest)
  expect(await periods(id)).toMatchObject([{ refund: null }])
})

test('a refund counts once it is approved', async () => {
  const { subscribe, refund, settle, id } = paddleStory(fixture.live)
  subscribe(START)
  refund(START + DAY, '100', { status: 'pending_approval' })
  settle(START + 2 * DAY, 'approved')
  expect(await periods(id)).toMatchObject([{ refund: { at: '2026-01-03T10:00:00Z', amount: '1' } }])
})

test('a chargeback is a refund; won, it is taken back, whichever way Paddle tells it', async () => {
  const { subscribe, refund, settle, id } = paddleStory(fixture.live)
  subscribe(START)
  refund(START + DAY, '100')
  refund(START + 2 * DAY, '900', { action: 'chargeback' })
  expect(await periods(id)).toMatchObject([{ refund: { at: '2026-01-03T10:00:00Z', amount: null } }])
  const left = [{ refund: { at: '2026-01-02T10:00:00Z', amount: '1' } }]
  refund(START + 3 * DAY, '900', { action: 'chargeback_reverse' })
  expect(await periods(id)).toMatchObject(left)
  settle(START + 3 * DAY, 'reversed')
  expect(await periods(id)).toMatchObject(left)
  for (const { id: name, action } of [...fixture.live.adjustments.values()])
    if (action === 'chargeback_reverse') fixture.live.adjustments.delete(name)
  expect(await periods(id)).toMatchObject(left)
})

test('an amount that is not stated is not made up', async () => {
  const { id, details } = once([{ product: 'coins', price: '150' }])
  details!.line_items![0]!.totals = null
  expect((await periods(id))[0]).not.toHaveProperty('price')
})

test('an unknown currency: the queue fails, and a claim is answered later', async () => {
  const { id } = once([{ product: 'coins', price: '150' }], { currency_code: 'XTS' })
  await expect(fixture.paddle.refresh(id, fixture.context)).rejects.toThrow('the currency XTS is not known')
})

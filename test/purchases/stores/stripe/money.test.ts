import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { exactDecimal } from '../../../../domain/kernel/decimal.ts'
import { stripeAmount, stripeCurrency } from '../../../../workflows/stores/stripe/money.ts'
import { periodsOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type StripeFixture, stripeFixture } from '../../../harness/stores/stripe-fixture.ts'
import { HOUR_MS, type StoryOptions, stripeStory } from '../../../harness/stores/stripe-story.ts'

test.each([
  ['usd', 1099n, '10.99'],
  ['eur', 5n, '0.05'],
  ['usd', 100000000000001n, '1000000000000.01'],
  ['jpy', 500n, '500'],
  ['krw', 12000n, '12000'],
  // Without decimals in the world, with two at Stripe.
  ['isk', 500n, '5'],
  ['ugx', 500n, '5'],
  ['huf', 1045n, '10.45'],
  ['twd', 80045n, '800.45'],
  ['kwd', 5120n, '5.12'],
  ['tnd', 1n, '0.001'],
  ['usd', 0n, '0'],
  ['jpy', 0n, '0'],
])('%s %s is %s', (code, units, text) => expect(stripeAmount(units, stripeCurrency(code))).toBe(text))

test('an unknown currency is an error: nobody knows its decimals', () => {
  expect(() => stripeCurrency('zzz')).toThrow('an amount of Stripe has the unknown currency "zzz"')
})

test('decimals of whole numbers', () => {
  expect([exactDecimal(0n, 0), exactDecimal(-7n, 0), exactDecimal(120n, 0), exactDecimal(-7n, 2), exactDecimal(120n, 2)]).toEqual([
    '0',
    '-7',
    '120',
    '-0.07',
    '1.2',
  ])
})

describe('the price of a period', () => {
  const START = Date.parse('2026-01-01T10:00:00Z')
  let fixture: StripeFixture
  beforeAll(async () => {
    fixture = await stripeFixture()
  })
  afterAll(() => fixture.close())
  beforeEach(() => fixture.server.clear())

  /** The price of the second period: the lines of regular invoices have what the options add. */
  async function priced(options: StoryOptions) {
    const one = stripeStory(fixture.server, options)
    one.subscribe(START)
    one.renew()
    fixture.clock.now = one.endsAt() - HOUR_MS
    const [report] = reportsOf(await fixture.store.refresh('sub_1', fixture.context))
    const { currency, price, periodType } = periodsOf(report!.statements)[1]!
    return [currency, price, periodType]
  }
  const item = (amount: number, quantity = 1) => [{ id: 'si_1', product: 'prod_pro', amount, quantity }]

  test.each<[string, StoryOptions, string[]]>([
    ['UGX', { currency: 'ugx', items: item(3700000) }, ['UGX', '37000', 'normal']],
    ['ISK', { currency: 'isk', items: item(150000) }, ['ISK', '1500', 'normal']],
    ['JPY', { currency: 'jpy', items: item(980) }, ['JPY', '980', 'normal']],
    ['KWD', { currency: 'kwd', items: item(3120) }, ['KWD', '3.12', 'normal']],
    ['quantity 3', { items: item(333, 3) }, ['USD', '9.99', 'normal']],
    ['discounts', { items: item(1000), line: { discounts: [100, 250] } }, ['USD', '6.5', 'normal']],
    ['a tax that comes on top', { items: item(1000), line: { exclusiveTax: 190 } }, ['USD', '11.9', 'normal']],
    ['a tax that is in the price', { items: item(1190), line: { inclusiveTax: 190 } }, ['USD', '11.9', 'normal']],
    ['all of it', { currency: 'kwd', items: item(1001, 3), line: { discounts: [3], exclusiveTax: 150 } }, ['KWD', '3.15', 'normal']],
    ['everything is discounted', { items: item(1000), line: { discounts: [1000] } }, ['USD', '0', 'normal']],
  ])('%s', async (_, options, expected) => expect(await priced(options)).toEqual(expected))

  test('of a price with tiers is the sum of its lines', async () => {
    const one = stripeStory(fixture.server)
    one.subscribe(START)
    const invoice = one.latest()
    const [line] = invoice.lines.data
    one.setInvoice(invoice, { lines: { ...invoice.lines, data: [line!, { ...line!, id: 'il_2', amount: 55 }] } })
    const [report] = reportsOf(await fixture.store.refresh('sub_1', fixture.context))
    expect(periodsOf(report!.statements)).toMatchObject([{ price: '10.55' }])
  })

  test('in an unknown currency is no purchase, but an error', async () => {
    stripeStory(fixture.server, { currency: 'zzz' }).subscribe(START)
    await expect(fixture.store.refresh('sub_1', fixture.context)).rejects.toThrow('unknown currency')
  })
})

// The bar of a customer's purchases: which stretches it has, and where.
import { describe, expect, test } from 'vitest'
import type { Purchase } from '../../../clients/typescript/src/index.ts'
import { storyOf } from '../../../web/console/pages/customer/periods.ts'

const DAY = 86_400_000
const START = Date.parse('2026-03-01T00:00:00Z')
const NOW = START + 100 * DAY
const iso = (day: number) => new Date(START + day * DAY).toISOString()

let made = 0
/** A period from one day to another of the subscription `lineage`. */
const period = (from: number, to: number | null, given: Partial<Purchase> & { lineage?: string } = {}): Purchase => {
  const { lineage = '1', ...rest } = given
  return {
    id: String(++made),
    user_id: 'u',
    platform: 'app_store',
    product_id: 'pro',
    price: '9.99',
    currency: 'USD',
    purchased_at: iso(from),
    expires_at: to === null ? null : iso(to),
    is_auto_renewing: false,
    period_type: to === null ? null : 'normal',
    store_data: { transaction_id: String(made), original_transaction_id: lineage, product_id: 'pro' },
    billing_retry_at: null,
    grace_period_expires_at: null,
    refunded_at: null,
    refunded_amount: null,
    ...rest,
  } as Purchase
}
const drawn = (...purchases: Purchase[]) => storyOf(purchases.toReversed(), NOW)!
const days = ({ start, end }: { start: number; end?: number | undefined }) =>
  [start, end].map(at => at !== undefined && Math.round((at - START) / DAY))

describe('the bar of purchases', () => {
  test('follows a life: trial, paid, refunds, and what is ahead', () => {
    const { periods, gaps, lanes, to } = drawn(
      period(0, 7, { price: '0', period_type: 'trial' }),
      period(7, 37, { refunded_at: iso(20), refunded_amount: '4.00' }),
      period(37, 67, { refunded_at: iso(40), refunded_amount: null }),
      period(80, 110),
    )
    expect(periods.map(({ kind }) => kind)).toEqual(['trial', 'part', 'refunded', 'paid'])
    expect(gaps.map(days)).toEqual([[67, 80]])
    expect([lanes, to]).toEqual([1, START + 110 * DAY])
  })

  test('a failed charge is grace, then retry until the customer has bought again', () => {
    const failed = { billing_retry_at: iso(30), grace_period_expires_at: iso(36) }
    const again = drawn(period(0, 30, failed), period(50, 80, { lineage: '2' }))
    expect(again.periods.map(one => [one.kind, ...days(one)])).toEqual([
      ['paid', 0, 30],
      ['grace', 30, 36],
      ['retry', 36, 50],
      ['paid', 50, 80],
    ])
    expect(again.gaps).toEqual([])
    const under = drawn(period(60, 90, { billing_retry_at: iso(90), is_auto_renewing: true }))
    expect(under.periods.map(one => [one.kind, ...days(one)])).toEqual([
      ['paid', 60, 90],
      ['retry', 90, false],
    ])
    expect(drawn(period(60, 90, { billing_retry_at: iso(90) })).periods.map(({ kind }) => kind)).toEqual(['paid'])
  })

  test('what overlaps has lanes of its own, and a period ends where the next one begins', () => {
    const { periods, lanes } = drawn(period(0, 30), period(10, 40, { lineage: '2' }), period(25, 55))
    expect(lanes).toBe(2)
    expect(periods.map(one => [one.lane, ...days(one)])).toEqual([
      [0, 0, 25],
      [1, 10, 40],
      [0, 25, 55],
    ])
  })

  test('what has no end is a mark, and a long time ahead is cut', () => {
    const { periods, marks, to } = drawn(period(50, null), period(90, 455))
    expect([periods.length, marks.map(({ at }) => (at - START) / DAY)]).toEqual([1, [50]])
    expect(to).toBe(NOW + 0.3 * 50 * DAY + 7 * DAY)
    expect(storyOf([], NOW)).toBeUndefined()
  })
})

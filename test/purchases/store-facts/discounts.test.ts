import { expect, test } from 'vitest'
import { withSigned } from '../../../domain/purchases/confirmed-claim.ts'
import { foldLineage } from '../../../domain/purchases/store-facts/fold.ts'
import { tied } from '../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../domain/purchases/store-facts/stated-period.ts'
import type { PeriodStatement, ReportedPeriod, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { at, paid, period } from './stories.ts'

// A discount makes free what is no trial. What the store says of it counts.

const folded = (...statements: PeriodStatement[]) => {
  const { periodType, isDiscounted } = foldLineage('app_store', statedPeriods(statements.map(tied)), [], null).periods[0]!
  return { periodType, isDiscounted }
}
const discounted = { isDiscounted: true }

test('what a caller says of a discount counts until the store states the period', () => {
  const free: ReportedPeriod = paid(0, 30, { price: '0', periodType: 'trial' })
  const ofCaller = period(0, 't1', { ...paid(0, 30, { price: '0' }), ...discounted }, 'caller')
  expect(folded(ofCaller)).toEqual({ periodType: 'normal', isDiscounted: true })
  expect(folded(ofCaller, period(1, 't1', { retrySince: null }))).toEqual({ periodType: 'normal', isDiscounted: true })
  expect(folded(ofCaller, period(1, 't1', free))).toEqual({ periodType: 'trial', isDiscounted: false })
  expect(folded(ofCaller, period(1, 't1', { ...free, periodType: 'normal', ...discounted }))).toEqual({
    periodType: 'normal',
    isDiscounted: true,
  })
})

test('an offer without a price and without a discount is the trial that it was', () => {
  const { price: _price, ...unpriced } = paid(0, 30, { periodType: 'intro' })
  expect(folded(period(0, 't1', unpriced))).toEqual({ periodType: 'trial', isDiscounted: false })
})

test('what is signed replaces what the caller says of a discount', () => {
  const report: Omit<StoreReport, 'statements'> = {
    platform: 'app_store',
    lineage: 't1',
    aliases: [],
    accountId: null,
    notices: [],
    isWhole: false,
  }
  const statements = [period(0, 't1', paid(0, 30))]
  const input = { price: '0', is_discounted: true, country: 'DE', app_store_data: { signed_transaction: 'jws' } }
  const signed = withSigned(input, { environment: 'production', reports: [{ ...report, statements }], lineage: 't1', subject: 't1' })
  expect(signed).toMatchObject({ price: '9.99', country: 'DE' })
  expect(signed).not.toHaveProperty('is_discounted')
  expect(Date.parse(signed.purchased_at!)).toBe(at(0))
})

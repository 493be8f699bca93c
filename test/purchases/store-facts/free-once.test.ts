import { expect, test } from 'vitest'
import { foldLineage } from '../../../domain/purchases/store-facts/fold.ts'
import { tied } from '../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../domain/purchases/store-facts/stated-period.ts'
import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import { freeOnce as free, paid, period, permutations, trial } from './stories.ts'

// A free period that the store discounts for this period alone: within a paid run it is a renewal that recurs for what its product cost before.

const renewed: ReportedPeriod = { isRenewal: true }
const folded = (...reported: ReportedPeriod[]) => {
  const statements = reported.map((one, i) => tied(period(i, `t${i + 1}`, one)))
  const [whole, ...others] = [...permutations(statements)].map(order =>
    foldLineage('app_store', statedPeriods(order), [], null).periods.map(({ periodType, isDiscounted, plan }) => ({
      periodType,
      isDiscounted,
      plan,
    })),
  )
  for (const other of others) expect(other).toEqual(whole)
  return whole!
}
const NORMAL = { periodType: 'normal', isDiscounted: false, plan: null }
const TRIAL = { periodType: 'trial', isDiscounted: false, plan: null }
const freeFor = (price: string, days: number) => ({ periodType: 'normal', isDiscounted: true, plan: { price, days } })
const bought: ReportedPeriod = { isRenewal: false, isNewBuy: true }

test('after a paid period it recurs for the price and the length of that, however long it is itself', () => {
  expect(folded(paid(0, 30, bought), free(30, 60), free(60, 150), paid(150, 180, renewed))).toEqual([
    NORMAL,
    freeFor('9.99', 30),
    freeFor('9.99', 30),
    NORMAL,
  ])
})

test('the price is the latest one of the product', () => {
  const dearer = paid(30, 60, { ...renewed, price: '12' })
  expect(folded(paid(0, 30, bought), dearer, free(60, 90))).toEqual([NORMAL, NORMAL, freeFor('12', 30)])
})

test('where nothing was paid in the run it is the trial that the store calls it', () => {
  expect(folded(trial(0, 7), free(7, 37), paid(37, 67, renewed))).toEqual([TRIAL, TRIAL, NORMAL])
  expect(folded(paid(0, 30, bought), free(60, 90, bought))).toEqual([NORMAL, TRIAL])
})

test('another product, another currency or a reduced price tells no plan: it is a renewal that recurs for nothing', () => {
  const nothing = { periodType: 'normal', isDiscounted: true, plan: null }
  expect(folded(paid(0, 30, bought), free(30, 60, { product: 'y' }))).toEqual([NORMAL, nothing])
  expect(folded(paid(0, 30, bought), free(30, 60, { currency: 'EUR' }))).toEqual([NORMAL, nothing])
  expect(folded(paid(0, 30, { ...bought, isDiscounted: true }), free(30, 60))).toEqual([{ ...NORMAL, isDiscounted: true }, nothing])
})

test('a discount that may go on, and a family’s share, have no plan', () => {
  const goesOn: ReportedPeriod = paid(30, 60, { ...renewed, price: '0', isDiscounted: true })
  expect(folded(paid(0, 30, bought), goesOn).at(-1)).toEqual({ periodType: 'normal', isDiscounted: true, plan: null })
  expect(folded(paid(0, 30, bought), free(30, 60, { isFamilyShared: true })).at(-1)).toEqual(NORMAL)
})

test('the plan of a prorated period is that of the free one after it', () => {
  const prorated = paid(0, 15, { ...bought, price: '5', plan: { price: '10', days: 30 } })
  expect(folded(prorated, free(15, 45)).at(-1)).toEqual(freeFor('10', 30))
})

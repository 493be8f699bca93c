import { describe, expect, test } from 'vitest'
import type { ReportedPeriod } from '../../../../domain/purchases/store-facts/statement.ts'
import type { Json } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS } from '../../../harness/stores/apple-subscription.ts'
import { appleStage, BEGIN } from './stage.ts'

// Why a subscription ended, and why a period is cheaper.

const stage = appleStage()
const { says, begun } = stage

test.each<[string, number | undefined, object]>([
  ['the customer cancelled', 1, { isVoluntary: true }],
  ['the charge failed', 2, { hasFailed: true }],
  ['the higher price was not accepted', 3, { isVoluntary: false }],
  ['the product is gone', 4, { isVoluntary: false }],
  ['for another reason', 5, {}],
])('%s', async (_, expirationIntent, expected) => {
  const subscription = begun()
  subscription.expire(BEGIN + MONTH_MS, 'VOLUNTARY')
  Object.assign(subscription.state.renewal!, { expirationIntent })
  const { renewal } = await says(subscription.posted('EXPIRED', null, BEGIN + MONTH_MS))
  const { isVoluntary, hasFailed } = renewal
  expect({ ...(isVoluntary !== undefined && { isVoluntary }), ...(hasFailed !== undefined && { hasFailed }) }).toEqual(expected)
})

test('a reason that is stated while the charge is retried is none', async () => {
  const { renewal } = await says(begun().failToRenew(BEGIN + MONTH_MS, null))
  expect(renewal).not.toHaveProperty('hasFailed')
})

describe('a period that costs nothing', () => {
  test.each<[string, Json, Pick<ReportedPeriod, 'periodType' | 'isDiscounted'>]>([
    ['a free trial', { offerType: 1, offerDiscountType: 'FREE_TRIAL' }, { periodType: 'trial' }],
    ['an introductory offer of which no discount is known', { offerType: 1 }, { periodType: 'trial' }],
    ['an old introductory offer without a price', { offerType: 1, price: undefined }, { periodType: 'intro' }],
    ['a discount of everything', { offerType: 3, offerDiscountType: 'PAY_UP_FRONT' }, { periodType: 'normal', isDiscounted: true }],
    ['a price of 0', {}, { periodType: 'normal' }],
  ])('%s', async (_, offer, expected) => {
    const { period } = await says(appleSubscription(stage.chain).subscribe(BEGIN, { price: 0, ...offer }))
    const { periodType, isDiscounted } = period
    expect({ periodType, ...(isDiscounted !== undefined && { isDiscounted }) }).toEqual(expected)
  })
})

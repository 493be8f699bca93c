import { describe, expect, test } from 'vitest'
import type { ReportedPeriod } from '../../../../domain/purchases/store-facts/statement.ts'
import { NOW, periodsIn, renewalsIn } from '../../../harness/stores/apple-fixture.ts'
import { appleJws, appleNotification, type Json } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS, MONTHLY, YEARLY } from '../../../harness/stores/apple-subscription.ts'
import { appleStage, BEGIN, DAY_MS } from './stage.ts'

const stage = appleStage()
const { says, begun } = stage
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

test('a subscription begins: the whole report', async () => {
  const subscription = appleSubscription(stage.chain, { environment: 'Sandbox', account: '7e3fb20b-4cdb-47cc-936d-99d65f608138' })
  const read = await stage.fixture.read(subscription.subscribe(BEGIN + 999))
  const { lineage } = subscription
  const stated = { subject: lineage, statedAt: BEGIN + 999, origin: 'push' }
  expect(read).toEqual({
    is: 'read',
    environment: 'sandbox',
    refresh: false,
    reports: [
      {
        platform: 'app_store',
        lineage,
        aliases: [],
        accountId: '7e3fb20b-4cdb-47cc-936d-99d65f608138',
        isWhole: false,
        notices: [],
        statements: [
          {
            ...stated,
            kind: 'period',
            ids: { transaction: lineage, originalTransaction: lineage, token: null, order: null, subscription: null, storeType: null },
            reported: {
              product: MONTHLY,
              isSubscription: true,
              begins: iso(BEGIN),
              ends: iso(BEGIN + MONTH_MS),
              periodType: 'normal',
              isRenewal: false,
              isNewBuy: true,
              isFamilyShared: false,
              currency: 'USD',
              price: '9.99',
              country: 'US',
              refund: null,
            },
          },
          {
            ...stated,
            kind: 'renewal',
            reported: { autoRenews: true, nextProduct: null, nextLevel: null, renewalPrice: '9.99', gaveUp: false },
          },
        ],
      },
    ],
  })
})

describe('periods', () => {
  test('a renewal', async () => {
    const subscription = begun()
    const { period, report } = await says(subscription.renew(BEGIN + MONTH_MS))
    expect(period).toMatchObject({ isRenewal: true, begins: iso(BEGIN + MONTH_MS), ends: iso(BEGIN + 2 * MONTH_MS) })
    expect(period.isRecovered).toBeUndefined()
    expect(report.lineage).toBe(subscription.lineage)
    expect(periodsIn(report.statements)[0]!.ids).toMatchObject({
      transaction: subscription.last().transactionId,
      originalTransaction: subscription.lineage,
    })
  })

  test('a recovery', async () => {
    const subscription = begun()
    subscription.failToRenew(BEGIN + MONTH_MS, null)
    const { period } = await says(subscription.recover(BEGIN + MONTH_MS + 5 * DAY_MS))
    expect(period).toMatchObject({ isRecovered: true, isRenewal: true, begins: iso(BEGIN + MONTH_MS + 5 * DAY_MS) })
    expect(period.retrySince).toBeUndefined()
  })

  test.each([['INITIAL_BUY'], ['RESUBSCRIBE']])('an offer that was redeemed, %s', async subtype => {
    const subscription = appleSubscription(stage.chain)
    subscription.subscribe(BEGIN, { offerType: 3, price: 4990 })
    const { period, refresh } = await says(subscription.posted('OFFER_REDEEMED', subtype, BEGIN))
    expect(period).toMatchObject({ periodType: 'intro', price: '4.99', begins: iso(BEGIN) })
    expect({ refresh, level: period.level }).toEqual({ refresh: false, level: undefined })
  })

  test.each<[string, Json, ReportedPeriod['periodType']]>([
    ['price 0', { price: 0 }, 'normal'],
    ['free trial without a price', { price: undefined, offerType: 1, offerDiscountType: 'FREE_TRIAL' }, 'trial'],
    ['introductory offer', { offerType: 1, offerDiscountType: 'PAY_AS_YOU_GO' }, 'intro'],
    ['promotional offer', { offerType: 2 }, 'intro'],
    ['offer code', { offerType: 3 }, 'intro'],
    ['win-back offer', { offerType: 4, offerDiscountType: 'PAY_UP_FRONT' }, 'intro'],
    ['free promotional offer', { price: 0, offerType: 2, offerDiscountType: 'FREE_TRIAL' }, 'trial'],
    ['no offer', {}, 'normal'],
    ['family', { inAppOwnershipType: 'FAMILY_SHARED', price: 0, offerType: 1, offerDiscountType: 'FREE_TRIAL' }, 'normal'],
  ])('%s', async (_, changes, periodType) => {
    expect((await says(appleSubscription(stage.chain).subscribe(BEGIN, changes))).period.periodType).toBe(periodType)
  })

  test('what a family shares has no price of its own', async () => {
    const { period } = await says(appleSubscription(stage.chain).subscribe(BEGIN, { inAppOwnershipType: 'FAMILY_SHARED' }))
    expect(period.isFamilyShared).toBe(true)
    expect(period.price).toBeUndefined()
  })

  test('an old transaction says nothing of price, currency and reason', async () => {
    const old = { price: undefined, currency: undefined, transactionReason: undefined, storefront: undefined }
    const { period } = await says(appleSubscription(stage.chain).subscribe(BEGIN, old))
    for (const field of ['price', 'currency', 'isRenewal', 'country']) expect(period).not.toHaveProperty(field)
  })

  test('the price is for the whole quantity', async () => {
    const { period } = await says(appleSubscription(stage.chain).subscribe(BEGIN, { quantity: 3, price: 29_970, currency: 'JPY' }))
    expect(period).toMatchObject({ price: '29.97', currency: 'JPY' })
  })

  test('an extension', async () => {
    const { period, refresh } = await says(begun().extend(NOW, BEGIN + 2 * MONTH_MS))
    expect(period).toMatchObject({ begins: iso(BEGIN), ends: iso(BEGIN + 2 * MONTH_MS) })
    expect(refresh).toBe(false)
  })
})

describe('one-time purchases', () => {
  const bought = (type: string) => {
    const transaction = { ...begun().last(), type, expiresDate: undefined, transactionId: '77', originalTransactionId: '77' }
    return appleNotification(stage.chain, {
      type: 'ONE_TIME_CHARGE',
      at: NOW,
      data: { signedTransactionInfo: appleJws(stage.chain, { ...transaction, signedDate: NOW }) },
    })
  }

  test.each([['Consumable'], ['Non-Consumable']])('%s', async type => {
    const { report, period, refresh } = await says(bought(type))
    expect(report.lineage).toBe('77')
    expect(period).toMatchObject({ isSubscription: false, begins: iso(BEGIN), ends: null, periodType: null, price: '9.99' })
    expect(renewalsIn(report.statements)).toEqual([])
    expect(refresh).toBe(false)
  })

  test('a non-renewing subscription is what its linked product is', async () => {
    const { report, period, refresh } = await says(bought('Non-Renewing Subscription'))
    expect(period).toMatchObject({ isSubscription: 'by_product', ends: null })
    expect(report.statements).toHaveLength(1)
    expect(refresh).toBe(false)
  })
})

describe('changes of the product', () => {
  test.each([
    ['DID_CHANGE_RENEWAL_PREF'],
    ['OFFER_REDEEMED'],
  ])('an upgrade by %s begins at once, and asks for the old period', async type => {
    const subscription = begun()
    subscription.upgrade(NOW, YEARLY, 99_990)
    const { period, refresh } = await says(subscription.posted(type, 'UPGRADE', NOW))
    expect(period).toMatchObject({ product: YEARLY, begins: iso(NOW), level: { is: 'upgrade', refunded: null }, refund: null })
    expect(refresh).toBe(true)
  })

  test('a downgrade is stated for the next period, and taken back', async () => {
    const subscription = begun()
    const set = await says(subscription.downgrade(NOW, 'com.example.basic'))
    expect(set.period).toMatchObject({ product: MONTHLY })
    expect(set.renewal).toMatchObject({ nextProduct: 'com.example.basic', nextLevel: 'downgrade', autoRenews: true })
    const redeemed = await says(subscription.posted('OFFER_REDEEMED', 'DOWNGRADE', NOW))
    expect(redeemed.renewal).toMatchObject({ nextProduct: 'com.example.basic', nextLevel: 'downgrade' })
    const takenBack = await says(subscription.downgrade(NOW + 1, null))
    expect(takenBack.renewal).toMatchObject({ nextProduct: null, nextLevel: null })
    expect([set.refresh, redeemed.refresh, takenBack.refresh]).toEqual([false, false, false])
  })
})

import { describe, expect, test } from 'vitest'
import { NOW } from '../../../harness/stores/apple-fixture.ts'
import { appleJws, appleNotification } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS, MONTHLY } from '../../../harness/stores/apple-subscription.ts'
import { appleStage, BEGIN, DAY_MS } from './stage.ts'

const stage = appleStage()
const { says, begun } = stage
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

describe('auto-renew', () => {
  test('off and on', async () => {
    const subscription = begun()
    const off = await says(subscription.switchAutoRenew(NOW, false))
    expect(off.renewal).toMatchObject({ autoRenews: false, gaveUp: false })
    expect(off.renewalSubject).toBe(subscription.lineage)
    expect((await says(subscription.switchAutoRenew(NOW + 1, true))).renewal).toMatchObject({ autoRenews: true })
  })

  test.each<['VOLUNTARY' | 'BILLING_RETRY']>([['VOLUNTARY'], ['BILLING_RETRY']])('expired: %s', async why => {
    expect((await says(begun().expire(BEGIN + MONTH_MS, why))).renewal).toMatchObject({ gaveUp: true, autoRenews: false })
  })

  test.each([['PRICE_INCREASE'], ['PRODUCT_NOT_FOR_SALE'], [null]])('expired: %s', async subtype => {
    expect((await says(begun().posted('EXPIRED', subtype, NOW))).renewal).toMatchObject({ gaveUp: true })
  })
})

describe('a charge that failed', () => {
  const END = BEGIN + MONTH_MS

  test('with a grace period', async () => {
    const subscription = begun()
    const { period, renewal } = await says(subscription.failToRenew(END, END + 16 * DAY_MS))
    expect(period).toMatchObject({ begins: iso(BEGIN), retrySince: iso(END), graceUntil: iso(END + 16 * DAY_MS) })
    expect(renewal.gaveUp).toBe(false)
  })

  test('without one', async () => {
    const { period, renewal } = await says(begun().failToRenew(END, null))
    expect(period).toMatchObject({ retrySince: iso(END), graceUntil: null })
    expect(renewal.gaveUp).toBe(false)
  })

  test('the grace period is over: its end stays', async () => {
    const subscription = begun()
    subscription.failToRenew(END, END + 16 * DAY_MS)
    const { period } = await says(subscription.endGrace(END + 16 * DAY_MS))
    expect(period.retrySince).toBe(iso(END + 16 * DAY_MS))
    expect(period.graceUntil).toBeUndefined()
  })

  test('other notifications of that time say it, too, but not of an older transaction', async () => {
    const subscription = begun()
    subscription.renew(END)
    subscription.failToRenew(END + MONTH_MS, END + MONTH_MS + DAY_MS)
    const off = await says(subscription.switchAutoRenew(END + MONTH_MS + 1000, false))
    expect(off.period).toMatchObject({
      begins: iso(END),
      retrySince: iso(END + MONTH_MS + 1000),
      graceUntil: iso(END + MONTH_MS + DAY_MS),
    })
    const refund = await says(subscription.refund(END + MONTH_MS + 2000, undefined, 0))
    expect(refund.period).toMatchObject({ begins: iso(BEGIN) })
    expect(refund.period.retrySince).toBeUndefined()
    expect(refund.renewalSubject).toBe('')
  })
})

describe('money that went back', () => {
  test('all of it', async () => {
    const { period, report } = await says(begun().refund(NOW))
    expect(period.refund).toEqual({ at: iso(NOW), amount: null })
    expect(report.notices).toEqual([])
  })

  test('a part', async () => {
    expect((await says(begun().refund(NOW, 25_000))).period.refund).toEqual({ at: iso(NOW), amount: '2.498' })
  })

  test('a part of a price that is not stated is taken as all', async () => {
    const subscription = appleSubscription(stage.chain)
    subscription.subscribe(BEGIN, { price: undefined })
    expect((await says(subscription.refund(NOW, 25_000))).period.refund).toEqual({ at: iso(NOW), amount: null })
  })

  test('and back again', async () => {
    const subscription = begun()
    subscription.refund(NOW)
    expect((await says(subscription.reverseRefund(NOW + 1000))).period.refund).toBeNull()
  })

  test('family sharing was revoked', async () => {
    const subscription = appleSubscription(stage.chain)
    subscription.subscribe(BEGIN, { inAppOwnershipType: 'FAMILY_SHARED' })
    const { period } = await says(subscription.revoke(NOW))
    expect(period).toMatchObject({ isFamilyShared: true, refund: { at: iso(NOW), amount: null } })
  })

  test.each([
    ['REFUND_DECLINED', 'refund_declined'],
    ['CONSUMPTION_REQUEST', 'refund_consumption'],
  ])('%s is an event', async (type, slug) => {
    const subscription = begun()
    const notification = subscription.posted(type, null, NOW)
    const { report, period } = await says(notification)
    expect(report.notices).toEqual([{ slug, id: notification.id, at: NOW, subject: subscription.lineage }])
    expect(period.refund).toBeNull()
  })
})

describe('the rest of the table', () => {
  test('a higher price is kept', async () => {
    const subscription = begun()
    subscription.state.renewal = { ...subscription.state.renewal, priceIncreaseStatus: 0, renewalPrice: 12_990 }
    const pending = await says(subscription.posted('PRICE_INCREASE', 'PENDING', NOW))
    expect(pending.renewal).toMatchObject({ priceIncrease: 'pending', renewalPrice: '12.99' })
    expect(pending.report.notices).toEqual([])
    subscription.state.renewal = { ...subscription.state.renewal, priceIncreaseStatus: 1 }
    expect((await says(subscription.posted('PRICE_INCREASE', 'ACCEPTED', NOW))).renewal).toMatchObject({ priceIncrease: 'accepted' })
    expect((await says(subscription.posted('PRICE_CHANGE', null, NOW))).renewal).toMatchObject({ renewalPrice: '12.99' })
  })

  test.each<[string, string | null, boolean]>([
    ['MIGRATION', null, true],
    ['METADATA_UPDATE', null, false],
    ['RENEWAL_EXTENSION', 'FAILURE', true],
  ])('%s %s: asks the store %s', async (type, subtype, refresh) => {
    const decoded = await says(begun().posted(type, subtype, NOW))
    expect(decoded.refresh).toBe(refresh)
    expect(decoded.report.notices).toEqual([])
    expect(decoded.period.product).toBe(MONTHLY)
  })

  test.each([
    ['RENEWAL_EXTENSION', 'SUMMARY'],
    ['TEST', null],
    ['SOMETHING_NEW', null],
  ])('%s %s is ignored', async (type, subtype) => {
    const notification = appleNotification(stage.chain, { type, subtype, at: NOW })
    expect(await stage.fixture.store.read(notification, stage.fixture.settings)).toEqual({ is: 'ignored', type })
  })

  test('a subtype of tomorrow is read as its type', async () => {
    expect((await says(begun().posted('DID_RENEW', 'BY_A_WAY_OF_TOMORROW', NOW))).period.product).toBe(MONTHLY)
  })
})

describe('what is missing', () => {
  const only = (data: object, type: string, subtype: string | null = null) =>
    appleNotification(stage.chain, { type, subtype, at: NOW, data })

  test('without renewal info the store is asked; the type counts meanwhile', async () => {
    const subscription = begun()
    const data = { signedTransactionInfo: subscription.signedTransaction(NOW) }
    const off = await says(only(data, 'DID_CHANGE_RENEWAL_STATUS', 'AUTO_RENEW_DISABLED'))
    expect({ refresh: off.refresh, renewal: off.renewal }).toEqual({ refresh: true, renewal: { autoRenews: false } })
    expect((await says(only(data, 'EXPIRED', 'VOLUNTARY'))).renewal).toEqual({ gaveUp: true })
    expect((await says(only(data, 'DID_RENEW'))).report.statements).toHaveLength(1)
  })

  test('renewal info alone names its lineage', async () => {
    const subscription = begun()
    const signedRenewalInfo = appleJws(stage.chain, { ...subscription.state.renewal, signedDate: NOW })
    const { report, renewalSubject } = await says(only({ signedRenewalInfo }, 'PRICE_INCREASE', 'PENDING'))
    expect(report).toMatchObject({ lineage: subscription.lineage, statements: [{ kind: 'renewal' }] })
    expect(renewalSubject).toBe('')
  })

  test('nothing inside, or what is no transaction, cannot be understood', async () => {
    await expect(stage.fixture.read(only({}, 'DID_RENEW'))).rejects.toThrow('carries neither a transaction nor renewal info')
    const { productId: _, ...without } = begun().last()
    const signedTransactionInfo = appleJws(stage.chain, { ...without, signedDate: NOW })
    await expect(stage.fixture.read(only({ signedTransactionInfo }, 'DID_RENEW'))).rejects.toThrow('a signed transaction has no productId')
  })
})

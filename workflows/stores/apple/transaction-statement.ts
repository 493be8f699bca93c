import { type JWSTransactionDecodedPayload, OfferDiscountType, OfferType, RevocationType, Type } from '@apple/app-store-server-library'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { PeriodStatement, ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import { countryOfStorefront } from '../../../domain/purchases/stores/storefronts.ts'
import { amountOf, refundedShare } from './milliunits.ts'
import { UnreadableContent } from './signed-payload.ts'

const REQUIRED = ['transactionId', 'originalTransactionId', 'productId', 'purchaseDate', 'signedDate'] as const

/** A transaction, with the fields that Apple always signs. */
export type AppleTransaction = JWSTransactionDecodedPayload & Required<Pick<JWSTransactionDecodedPayload, (typeof REQUIRED)[number]>>

/** Throws for a transaction without the required fields. */
export function completeTransaction(transaction: JWSTransactionDecodedPayload): AppleTransaction {
  const missing = REQUIRED.find(name => transaction[name] === undefined)
  if (missing) throw new UnreadableContent(`a signed transaction has no ${missing}`)
  return transaction as AppleTransaction
}

/** Periods are whole seconds. Throws `NotCredible` for a number that is no time. */
export function wholeSecondOf(ms: number): string {
  const time = new Date(Math.floor(ms / 1000) * 1000)
  if (Number.isNaN(time.getTime())) throw new NotCredible('a signed time is none')
  return `${time.toISOString().slice(0, 19)}Z`
}

export const isAutoRenewable = ({ type, expiresDate }: JWSTransactionDecodedPayload): boolean =>
  type === undefined ? expiresDate !== undefined : type === Type.AUTO_RENEWABLE_SUBSCRIPTION

const isFamilyShared = ({ inAppOwnershipType }: AppleTransaction) => inAppOwnershipType === 'FAMILY_SHARED'

function periodTypeOf(transaction: AppleTransaction): ReportedPeriod['periodType'] {
  if (isFamilyShared(transaction)) return 'normal'
  const { offerDiscountType: discount, offerType, price } = transaction
  // Transactions of old offers do not name their discount.
  if (discount === OfferDiscountType.FREE_TRIAL || (discount === undefined && offerType === OfferType.INTRODUCTORY_OFFER && price === 0))
    return 'trial'
  return offerType === undefined || price === 0 ? 'normal' : 'intro'
}

/** For an old transaction without a price it is unknown whether its offer was a free trial. */
const isDiscounted = (transaction: AppleTransaction): boolean =>
  transaction.price !== undefined &&
  transaction.offerType !== undefined &&
  !isFamilyShared(transaction) &&
  periodTypeOf(transaction) !== 'trial'

/**
 * Apple's free offers last one period, however long, so a free renewal is discounted for this period alone. The introductory offer is that of a new
 * subscription.
 */
const isFreeOnce = (transaction: AppleTransaction): boolean =>
  transaction.price === 0 &&
  transaction.offerDiscountType === OfferDiscountType.FREE_TRIAL &&
  transaction.offerType !== OfferType.INTRODUCTORY_OFFER &&
  transaction.transactionReason === 'RENEWAL' &&
  !isFamilyShared(transaction)

/** The refunded or revoked part. Old transactions state no price: without a price, a partial refund counts as a full one. */
export function refundOf(transaction: AppleTransaction, isAllBack = false): NonNullable<ReportedPeriod['refund']> {
  const { revocationDate, revocationType, revocationPercentage, price, signedDate } = transaction
  const isPart = !isAllBack && revocationType !== RevocationType.FAMILY_REVOKE && revocationPercentage !== undefined && price !== undefined
  return { at: wholeSecondOf(revocationDate ?? signedDate), amount: isPart ? refundedShare(price, revocationPercentage) : null }
}

function reportedSubscription(transaction: AppleTransaction): ReportedPeriod {
  const { expiresDate, transactionReason } = transaction
  if (expiresDate === undefined) throw new NotCredible('a signed subscription has no expiresDate')
  return {
    isSubscription: true,
    ends: wholeSecondOf(expiresDate),
    periodType: periodTypeOf(transaction),
    ...(isDiscounted(transaction) && { isDiscounted: true }),
    ...(isFreeOnce(transaction) && { isDiscountedOnce: true as const }),
    ...(transactionReason !== undefined && { isRenewal: transactionReason === 'RENEWAL', isNewBuy: transactionReason === 'PURCHASE' }),
  }
}

const TYPES: readonly string[] = Object.values(Type)

/** An unknown type is not credible, because its entitlements are unknown. Old transactions state none. */
function requireKnownType({ type }: AppleTransaction): void {
  if (type !== undefined && !TYPES.includes(type))
    throw new NotCredible(`the type ${JSON.stringify(type).slice(0, 60)} of a signed transaction is not known`)
}

/** Apple treats a non-renewing subscription as a one-time purchase without an end. The project may have linked it to a subscription. */
const reportedOneTime = ({ type }: AppleTransaction): ReportedPeriod => ({
  isSubscription: type === Type.NON_RENEWING_SUBSCRIPTION ? 'by_product' : false,
  ends: null,
  periodType: null,
})

/**
 * The report of a period from its transaction. Another person paid for a purchase that is shared within a family, so its price is ignored.
 * `added`: further known fields, from the type of a notification or from other transactions. Throws `NotCredible` for an unknown type, and
 * for a subscription without an end.
 */
export function transactionStatement(transaction: AppleTransaction, origin: 'push' | 'api', added: ReportedPeriod = {}): PeriodStatement {
  const { transactionId, originalTransactionId, productId, price, currency, purchaseDate, revocationDate, signedDate } = transaction
  requireKnownType(transaction)
  const { webOrderLineItemId: lineItem } = transaction
  const isShared = isFamilyShared(transaction)
  const country = countryOfStorefront(transaction.storefront)
  return {
    kind: 'period',
    subject: transactionId,
    statedAt: signedDate,
    origin,
    ids: {
      transaction: transactionId,
      originalTransaction: originalTransactionId,
      token: null,
      order: null,
      subscription: null,
      storeType: null,
      // The identity of a one-time purchase is the id of its transaction.
      ...(lineItem !== undefined && isAutoRenewable(transaction) && { lineItem }),
    },
    reported: {
      product: productId,
      ...(isAutoRenewable(transaction) ? reportedSubscription(transaction) : reportedOneTime(transaction)),
      begins: wholeSecondOf(purchaseDate),
      isFamilyShared: isShared,
      ...(currency !== undefined && { currency }),
      ...(price !== undefined && !isShared && { price: amountOf(price) }),
      ...(country !== undefined && { country }),
      refund: revocationDate === undefined ? null : refundOf(transaction),
      ...added,
    },
  }
}

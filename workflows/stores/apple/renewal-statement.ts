import { AutoRenewStatus, type JWSRenewalInfoDecodedPayload, PriceIncreaseStatus } from '@apple/app-store-server-library'
import type { RenewalStatement, ReportedPeriod, ReportedRenewal } from '../../../domain/purchases/store-facts/statement.ts'
import { amountOf } from './milliunits.ts'
import { UnreadableContent } from './signed-payload.ts'
import { wholeSecondOf } from './transaction-statement.ts'

/** Renewal info, with the fields that Apple always signs. */
export type AppleRenewal = JWSRenewalInfoDecodedPayload &
  Required<Pick<JWSRenewalInfoDecodedPayload, 'originalTransactionId' | 'signedDate'>>

/** Throws for renewal info without the required fields. */
export function completeRenewal(renewal: JWSRenewalInfoDecodedPayload): AppleRenewal {
  if (renewal.originalTransactionId === undefined) throw new UnreadableContent('signed renewal info has no originalTransactionId')
  if (renewal.signedDate === undefined) throw new UnreadableContent('signed renewal info has no signedDate')
  return renewal as AppleRenewal
}

/** For Apple, a product that begins with the next renewal is a downgrade: upgrades begin at once. */
function reportedNextProduct({ autoRenewProductId, productId }: AppleRenewal): ReportedRenewal {
  if (autoRenewProductId === undefined) return {}
  const isOther = productId !== undefined && autoRenewProductId !== productId
  return { nextProduct: isOther ? autoRenewProductId : null, nextLevel: isOther ? 'downgrade' : null }
}

function reportedPrice({ priceIncreaseStatus, renewalPrice }: AppleRenewal): ReportedRenewal {
  const isAccepted = priceIncreaseStatus === PriceIncreaseStatus.CUSTOMER_CONSENTED_OR_WAS_NOTIFIED_WITHOUT_NEEDING_CONSENT
  return {
    ...(priceIncreaseStatus !== undefined && { priceIncrease: isAccepted ? 'accepted' : 'pending' }),
    ...(renewalPrice !== undefined && { renewalPrice: amountOf(renewalPrice) }),
  }
}

/** Apple also states a reason of expiry while it retries the charge. */
const hasEnded = ({ expirationIntent, isInBillingRetryPeriod }: AppleRenewal): boolean =>
  expirationIntent !== undefined && isInBillingRetryPeriod !== true

const CUSTOMER_CANCELLED = 1
const BILLING_ERROR = 2
const PRICE_NOT_ACCEPTED = 3
const PRODUCT_GONE = 4

/** The reason why the subscription has ended. */
function reportedCause(renewal: AppleRenewal): ReportedRenewal {
  if (!hasEnded(renewal)) return {}
  switch (renewal.expirationIntent) {
    case CUSTOMER_CANCELLED:
      return { isVoluntary: true }
    case BILLING_ERROR:
      return { hasFailed: true }
    case PRICE_NOT_ACCEPTED:
    case PRODUCT_GONE:
      return { isVoluntary: false }
    default:
      return {}
  }
}

/** `subject`: the last transaction of the lineage; `''` if it is unknown. `added`: further known fields. */
export function renewalStatement(
  renewal: AppleRenewal,
  subject: string,
  origin: 'push' | 'api',
  added: ReportedRenewal = {},
): RenewalStatement {
  const { autoRenewStatus, signedDate } = renewal
  return {
    kind: 'renewal',
    subject,
    statedAt: signedDate,
    origin,
    reported: {
      ...(autoRenewStatus !== undefined && { autoRenews: autoRenewStatus === AutoRenewStatus.ON }),
      ...reportedNextProduct(renewal),
      ...reportedPrice(renewal),
      gaveUp: hasEnded(renewal),
      ...reportedCause(renewal),
      ...added,
    },
  }
}

/** The report about the last period from renewal info: since when its charge is retried, and until when access continues meanwhile. */
export function reportedRetry({ isInBillingRetryPeriod, gracePeriodExpiresDate, signedDate }: AppleRenewal): ReportedPeriod {
  if (isInBillingRetryPeriod !== true) return {}
  return {
    retrySince: wholeSecondOf(signedDate),
    ...(gracePeriodExpiresDate !== undefined && { graceUntil: wholeSecondOf(gracePeriodExpiresDate) }),
  }
}

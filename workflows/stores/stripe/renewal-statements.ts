import type { RenewalStatement, ReportedRenewal } from '../../../domain/purchases/store-facts/statement.ts'
import { stated } from '../stated.ts'
import type { KnownSubscription } from './fetch-subscription.ts'
import type { LineagePeriod } from './item-lineages.ts'
import { hasFailed, isPaused, renewalInvoice } from './last-period.ts'
import { plannedProduct } from './planned-product.ts'

/** Who ended the subscription: the customer, or Stripe because the charge had failed or was disputed. */
function reportedCause({ cancellation_details: details }: KnownSubscription['subscription']): ReportedRenewal {
  switch (details?.reason) {
    case 'cancellation_requested':
      return { isVoluntary: true }
    case 'payment_failed':
      return { isVoluntary: false, hasFailed: true }
    case 'payment_disputed':
      return { isVoluntary: false }
    default:
      return {}
  }
}

/**
 * Whether a lineage renews. The cancellation and the end have times of their own, which may be before the refresh that reports them. None
 * of the statements names a transaction: like those of events, each is about the period in which its time lies.
 */
export function stripeRenewalStatements(
  known: KnownSubscription,
  last: LineagePeriod,
  { isOwned, isMain }: { isOwned: boolean; isMain: boolean },
): RenewalStatement[] {
  const { subscription, statedAt } = known
  const { status, cancel_at, cancel_at_period_end, canceled_at, ended_at } = subscription
  const isEnded = status === 'canceled'
  const isOff = isEnded || cancel_at_period_end || cancel_at !== null || !isOwned
  const renewal = renewalInvoice(known, last)
  const common = { kind: 'renewal', origin: 'api', subject: '' } as const
  // A pause is no cancellation.
  const reported = stated<ReportedRenewal>({
    autoRenews: isOff ? false : isPaused(subscription) ? undefined : true,
    isPaused: isEnded ? null : isPaused(subscription),
    nextProduct: isMain ? plannedProduct(known, last.product) : null,
    gaveUp: isEnded || status === 'unpaid' || (renewal?.status === 'uncollectible' && hasFailed(renewal)),
    ...(isOff && isOwned && reportedCause(subscription)),
  })
  const at = (seconds: number | null, what: ReportedRenewal): RenewalStatement[] =>
    seconds === null ? [] : [{ ...common, statedAt: Math.min(seconds * 1000, statedAt), reported: what }]
  return [
    ...(isOff && isOwned ? at(canceled_at, { autoRenews: false }) : []),
    ...(isEnded ? at(ended_at, { gaveUp: true }) : []),
    { ...common, statedAt, reported },
  ]
}

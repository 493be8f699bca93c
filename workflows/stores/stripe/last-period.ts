import type Stripe from 'stripe'
import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import { secondOf } from '../stated.ts'
import type { KnownSubscription } from './fetch-subscription.ts'
import type { LineagePeriod } from './item-lineages.ts'

const HOUR_SECONDS = 3600
const text = (seconds: number): string => secondOf(seconds * 1000)

/** The end of a period by its charge. The end of a trial may be moved without a charge that shows it. */
function chargedUntil({ subscription: { status, trial_end } }: KnownSubscription, { price, begins, endsAt }: LineagePeriod): number {
  if (price > 0n || trial_end === null || trial_end <= begins) return endsAt
  return status === 'trialing' ? trial_end : Math.min(endsAt, trial_end)
}

/** The invoice of the period after the last one, while it is not paid. */
export function renewalInvoice(known: KnownSubscription, last: LineagePeriod): Stripe.Invoice | undefined {
  const ends = chargedUntil(known, last)
  return known.invoices.findLast(
    ({ invoice: { billing_reason, status }, lines }) =>
      billing_reason === 'subscription_cycle' && status !== 'paid' && lines.some(({ period }) => period.start >= ends),
  )?.invoice
}

/** Whether the charge of an invoice was tried. While collection is paused no charge is. */
export const hasFailed = (invoice: Stripe.Invoice | undefined): boolean =>
  invoice !== undefined && invoice.attempt_count > 0 && invoice.amount_due > 0

export const isPaused = ({ pause_collection, status }: Stripe.Subscription): boolean => pause_collection !== null || status === 'paused'

/** Stripe renews about an hour before it charges, and some payments take longer. Access must not end in that hour. */
function endWhileCharging(renewal: Stripe.Invoice | undefined): number {
  const finalized = renewal?.status === 'draft' ? renewal.automatically_finalizes_at : renewal?.status_transitions.finalized_at
  const isOpen = renewal?.status === 'draft' || renewal?.status === 'open'
  return isOpen && finalized != null ? finalized + HOUR_SECONDS : 0
}

/** The report about the last period of an item from the state of the subscription. `isOwned`: the subscription still has the item. */
export function reportedLastPeriod(known: KnownSubscription, period: LineagePeriod, isOwned: boolean): ReportedPeriod {
  const { subscription, statedAt } = known
  const { status, ended_at } = subscription
  const renewal = renewalInvoice(known, period)
  const end = chargedUntil(known, period)
  const ends = text(end)
  // Another charge than that of the renewal may have failed: then the period lasts until its end.
  const retry = end * 1000 <= statedAt ? { ends, retrySince: ends, graceUntil: null } : { ends }
  if (!isOwned) return { ends }
  switch (status) {
    case 'trialing':
    case 'active':
      if (isPaused(subscription)) return { ends }
      return { ends: text(Math.max(end, endWhileCharging(renewal))), retrySince: null, graceUntil: null }
    case 'past_due':
    case 'unpaid':
      return retry
    case 'canceled':
      return {
        ...(hasFailed(renewal) && retry),
        ends: text(ended_at === null ? end : Math.max(period.begins, Math.min(end, ended_at))),
      }
    default:
      return { ends }
  }
}

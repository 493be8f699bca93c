import { compareAmounts, minus } from '../events/money.ts'
import { type PurchaseRow, recordedAt } from '../subscriptions/purchase.ts'
import type { Emission } from './emit.ts'

// The events of what is stated about a purchase: auto-renew off, billing retry, refund. They follow from the difference between the facts and
// what was told of them, so the log agrees with the money whichever way the facts came in.

const isTrial = ({ amount }: PurchaseRow) => compareAmounts(amount, '0') === 0

/** Each time that auto-renew is switched off. The store does not date it: the event has the time of the statement. */
function cancellation(purchase: PurchaseRow): Emission[] {
  if (!purchase.is_subscription || purchase.auto_renewing || purchase.emitted.includes('canceled')) return []
  const slug = isTrial(purchase) ? 'trial_canceled' : 'subscription_canceled'
  const { created_at, auto_renew_off_at: offAt } = purchase
  const known = { purchase, slug, mark: 'canceled' as const }
  // The purchase was recorded with auto-renew off: the event is as old as the purchase.
  if (offAt === null || offAt <= created_at) return [{ ...known, at: created_at }]
  return [{ ...known, at: offAt, fact: { at: offAt, recorded: offAt } }]
}

/** Once per period: a retry that is cleared and set again is the same failing charge. */
function retry(purchase: PurchaseRow): Emission[] {
  if (purchase.billing_retry_at === null) return []
  const slug = isTrial(purchase) ? 'trial_billing_retry_entered' : 'subscription_billing_retry_entered'
  const recorded = recordedAt(purchase)
  return [{ purchase, slug, at: recorded, once: 'retry', fact: { at: purchase.billing_retry_at, recorded } }]
}

/** What went back of a purchase; never more than was paid, as in the customer's figures. */
function refundedAmount({ refunded_at, refunded_amount, amount }: PurchaseRow): string {
  if (refunded_at === null) return '0'
  return refunded_amount !== null && compareAmounts(refunded_amount, amount) < 0 ? refunded_amount : amount
}

/** The difference between what went back and what was told of it: a refund, or a refund that was taken back. */
function refund(purchase: PurchaseRow): Emission[] {
  const { refunded_at: at, is_subscription, refund_told } = purchase
  const recorded = recordedAt(purchase)
  const refunded = refundedAmount(purchase)
  const difference = minus(refunded, refund_told)
  const sign = compareAmounts(difference, '0')
  if (sign < 0) {
    const [amount, fact] = [minus(refund_told, refunded), { at: recorded, recorded }]
    return [{ purchase, slug: 'refund_reversed', at: recorded, amount, refundTold: refunded, fact }]
  }
  if (at === null) return []
  const slug = is_subscription ? 'subscription_refunded' : 'in_app_refunded'
  const fact = { at, recorded }
  if (sign > 0) return [{ purchase, slug, at, amount: difference, refundTold: refunded, fact }]
  // A free period that is refunded ends, but no money goes back.
  return isTrial(purchase) ? [{ purchase, slug, at, amount: '0', once: 'refunded', fact }] : []
}

/**
 * The events of stated facts that are not told yet; those of a purchase whose begin waits come after its begin. A family-shared purchase has
 * none: the subscription belongs to another user.
 */
export const factEvents = (purchases: PurchaseRow[], isWaiting: (purchase: PurchaseRow) => boolean): Emission[] =>
  purchases
    .filter(purchase => !purchase.is_family_shared && !isWaiting(purchase))
    .flatMap(purchase => [...cancellation(purchase), ...retry(purchase), ...refund(purchase)])

import { compareAmounts, minus } from '../events/money.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import type { Emission } from './emit.ts'

// Events of a changed fact: each change emits one. The store does not date some of these changes. They have the time of the request.

/** `purchases` are in the order of their periods. */
const lastOf = (purchases: PurchaseRow[], { lineage }: PurchaseRow) => purchases.findLast(p => p.lineage === lineage && p.is_subscription)

/** A family-shared purchase emits no events: the subscription belongs to another user. */
const emitsNothing = (purchase: PurchaseRow | undefined): boolean => purchase === undefined || purchase.is_family_shared

const isTrial = ({ amount }: PurchaseRow) => compareAmounts(amount, '0') === 0

const cancellation = (purchase: PurchaseRow, now: string): Emission => ({
  purchase,
  slug: isTrial(purchase) ? 'trial_canceled' : 'subscription_canceled',
  at: now,
})

/** A cancellation, when the new purchase is the last period and has auto-renew off. */
export function newPurchaseEvents(purchases: PurchaseRow[], id: string): Emission[] {
  const purchase = purchases.find(p => String(p.id) === id)
  if (!purchase || emitsNothing(purchase) || !purchase.is_subscription || purchase.auto_renewing) return []
  return lastOf(purchases, purchase) === purchase ? [cancellation(purchase, purchase.created_at)] : []
}

const refundedAmount = ({ refunded_at, refunded_amount, amount }: PurchaseRow): string =>
  refunded_at === null ? '0' : (refunded_amount ?? amount)

/** The events of an updated purchase: auto-renew switched off, billing retry entered, a larger refund than before. */
export function updateEvents(before: PurchaseRow, after: PurchaseRow | undefined, now: string): Emission[] {
  if (!after || emitsNothing(after)) return []
  const emissions: Emission[] = []
  if (before.auto_renewing && !after.auto_renewing) emissions.push(cancellation(after, now))
  if (before.billing_retry_at === null && after.billing_retry_at !== null) {
    const slug = isTrial(after) ? 'trial_billing_retry_entered' : 'subscription_billing_retry_entered'
    emissions.push({ purchase: after, slug, at: now })
  }
  const increase = minus(refundedAmount(after), refundedAmount(before))
  const isFirst = before.refunded_at === null && after.refunded_at !== null
  if (compareAmounts(increase, '0') > 0 || isFirst) {
    const slug = after.is_subscription ? 'subscription_refunded' : 'in_app_refunded'
    emissions.push({ purchase: after, slug, at: after.refunded_at!, amount: increase })
  }
  return emissions
}

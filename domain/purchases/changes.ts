import { compareAmounts, minus } from '../events/money.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import type { Emission } from './emit.ts'

// Events that come with a change of a fact, as often as it changes. `at`: those that the store does not date happen when we hear of them.

// They come in the order of their periods.
const lastOf = (purchases: PurchaseRow[], { lineage }: PurchaseRow) => purchases.findLast(p => p.lineage === lineage && p.is_subscription)

const tellsNothing = (purchase: PurchaseRow | undefined): boolean => purchase === undefined || purchase.is_family_shared

const isTrial = ({ amount }: PurchaseRow) => compareAmounts(amount, '0') === 0

const cancellation = (purchase: PurchaseRow, now: string): Emission => ({
  purchase,
  slug: isTrial(purchase) ? 'trial_canceled' : 'subscription_canceled',
  at: now,
})

/** A new last period that comes with auto-renew off. */
export function canceled(purchases: PurchaseRow[], id: string): Emission[] {
  const purchase = purchases.find(p => String(p.id) === id)
  if (!purchase || tellsNothing(purchase) || !purchase.is_subscription || purchase.auto_renewing) return []
  return lastOf(purchases, purchase) === purchase ? [cancellation(purchase, purchase.created_at)] : []
}

const refunded = ({ refunded_at, refunded_amount, amount }: PurchaseRow): string =>
  refunded_at === null ? '0' : (refunded_amount ?? amount)

/** What an update of a purchase says: auto-renew switched off, billing retry entered, more refunded than before. */
export function changed(before: PurchaseRow, after: PurchaseRow | undefined, now: string): Emission[] {
  if (!after || tellsNothing(after)) return []
  const emissions: Emission[] = []
  if (before.auto_renewing && !after.auto_renewing) emissions.push(cancellation(after, now))
  if (before.billing_retry_at === null && after.billing_retry_at !== null) {
    const slug = isTrial(after) ? 'trial_billing_retry_entered' : 'subscription_billing_retry_entered'
    emissions.push({ purchase: after, slug, at: now })
  }
  const more = minus(refunded(after), refunded(before))
  const first = before.refunded_at === null && after.refunded_at !== null
  if (compareAmounts(more, '0') > 0 || first) {
    const slug = after.is_subscription ? 'subscription_refunded' : 'in_app_refunded'
    emissions.push({ purchase: after, slug, at: after.refunded_at!, amount: more })
  }
  return emissions
}

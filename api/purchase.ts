import { audit, type Trail } from '../domain/kernel/audit/record.ts'
import type { PurchaseInput } from '../domain/purchases/claim.ts'
import { createPurchase } from '../domain/purchases/create.ts'
import { type PurchaseRow, shownProduct } from '../domain/purchases/subscriptions/purchase.ts'
import type { Evidence } from '../domain/purchases/verification.ts'
import type { Tx } from '../store/connect.ts'

function storeData(row: PurchaseRow) {
  switch (row.platform) {
    case 'app_store':
      return {
        transaction_id: row.transaction_id!,
        original_transaction_id: row.original_transaction_id!,
        product_id: row.store_product_id,
      }
    case 'play_store':
      return {
        purchase_token: row.purchase_token!,
        order_id: row.order_id,
        product_id: row.store_product_id,
        base_plan_id: row.base_plan_id,
      }
    case 'stripe':
      return { subscription_id: row.subscription_id!, product_id: row.store_product_id }
    case 'paddle':
      return {
        transaction_id: row.transaction_id!,
        product_id: row.store_product_id,
        type: row.store_type as 'subscription' | 'non_recurring',
        subscription_id: row.subscription_id,
      }
    default:
      return row.platform satisfies never
  }
}

/** `reader`: the user whose list shows the purchase. A shared purchase keeps its owner's `user_id`. */
export const purchase = (row: PurchaseRow, reader: string) => ({
  object: 'purchase' as const,
  id: String(row.id),
  url: `/v4/users/${row.user_id ?? reader}/purchases/${row.id}`,
  user_id: row.user_id ?? reader,
  platform: row.platform,
  product_id: shownProduct(row),
  currency: row.currency,
  price: row.price,
  purchased_at: row.purchased_at,
  expires_at: row.expires_at,
  is_auto_renewing: row.is_subscription && row.is_last && row.auto_renewing,
  is_paused: row.is_subscription && row.is_last && row.is_paused,
  planned_product_id: row.is_subscription && row.is_last ? row.planned_product : null,
  store_data: storeData(row),
  created_at: row.created_at,
  period_type: row.period_type,
  is_discounted: row.is_discounted,
  is_family_shared: row.is_family_shared,
  country: row.country,
  screen_id: row.screen_id,
  billing_retry_at: row.billing_retry_at,
  grace_period_expires_at: row.grace_period_expires_at,
  refunded_at: row.refunded_at,
  refunded_amount: row.refunded_amount,
  verified_at: row.verified_at,
})

/** What an operation records: for whom, what was claimed, and what the store says of it. */
type Claimed = { user: string; input: PurchaseInput; evidence: Evidence; takesUnlinked?: boolean; takesUnpriced?: boolean }

/** Records a purchase with its entry in the audit log. Returns it as that shows it. */
export async function recordPurchase(
  tx: Tx,
  trail: Trail & { environment: number },
  { user, input, evidence, takesUnlinked = false, takesUnpriced = false }: Claimed,
): Promise<ReturnType<typeof purchase>> {
  const created = await createPurchase(tx, trail.environment, user, input, evidence, { takesUnlinked, takesUnpriced })
  const after = purchase(created.purchase, user)
  // An entry names one user, so that the erasure of the other one leaves it as it is.
  if (created.former) {
    const { user_id: former } = created.former
    await audit(tx, trail, { resource: 'purchase', id: after.id, user: former!, before: purchase(created.former, former!) })
  }
  await audit(tx, trail, { resource: 'purchase', id: after.id, user: after.user_id, after })
  return after
}

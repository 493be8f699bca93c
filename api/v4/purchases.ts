import { audit } from '../../domain/audit/record.ts'
import { createPurchase } from '../../domain/purchases/create.ts'
import { getPurchase, listPurchases } from '../../domain/purchases/read.ts'
import { updatePurchase } from '../../domain/purchases/update.ts'
import { claimToVerify, configOfStore, gatherEvidence } from '../../domain/purchases/verification.ts'
import { type PurchaseRow, shownProduct } from '../../domain/subscriptions/purchase.ts'
import { inTransaction, onPool, preparedTransaction } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

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
const purchase = (row: PurchaseRow, reader: string) => ({
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
  store_data: storeData(row),
  created_at: row.created_at,
  period_type: row.period_type,
  is_family_shared: row.is_family_shared,
  country: row.country,
  screen_id: row.screen_id,
  billing_retry_at: row.billing_retry_at,
  grace_period_expires_at: row.grace_period_expires_at,
  refunded_at: row.refunded_at,
  refunded_amount: row.refunded_amount,
  verified_at: row.verified_at,
})

export const v4ListUserPurchases = onPool('v4ListUserPurchases', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after, 'filter[platform]': platforms = [] } = query
  const { rows, restarted } = await listPurchases(db, environment, path.user_id, { limit, after, platforms })
  const url = `/v4/users/${path.user_id}/purchases` as const
  return {
    body: cursorPage({ url, rows, limit, item: row => purchase(row, path.user_id) }),
    headers: restartedHeader(restarted),
  }
})

export const v4CreatePurchase = preparedTransaction(
  'v4CreatePurchase',
  async ({ body, project, environmentKind, deps, inTurn }) => {
    const claim = claimToVerify(body)
    const config = await inTurn(db => configOfStore(db, project, claim))
    return gatherEvidence(deps, project, environmentKind, claim, config)
  },
  async ({ path, body, environment, trail, tx, prepared }) => {
    const user = path.user_id
    const created = await createPurchase(tx, environment, user, body, prepared)
    const after = purchase(created.purchase, user)
    // An entry names one user, so that the erasure of the other one leaves it as it is.
    if (created.former) {
      const { user_id: former } = created.former
      await audit(tx, trail, { resource: 'purchase', id: after.id, user: former!, before: purchase(created.former, former!) })
    }
    await audit(tx, trail, { resource: 'purchase', id: after.id, user: after.user_id, after })
    return { body: after }
  },
)

export const v4GetUserPurchase = onPool('v4GetUserPurchase', async ({ path, environment, db }) => ({
  body: purchase(await getPurchase(db, environment, path.user_id, path.purchase_id), path.user_id),
}))

export const v4UpdateUserPurchase = inTransaction('v4UpdateUserPurchase', async ({ path, body, environment, trail, tx }) => {
  const user = path.user_id
  const { before, after } = await updatePurchase(tx, environment, user, path.purchase_id, body)
  if (before !== after) {
    const shown = purchase(after, user)
    await audit(tx, trail, { resource: 'purchase', id: shown.id, user, before: purchase(before, user), after: shown })
  }
  return { body: purchase(after, user) }
})

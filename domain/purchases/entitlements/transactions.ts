import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { VISIBLE_PURCHASES } from '../read.ts'
import type { Store } from '../subscriptions/purchase.ts'

/** The newest transactions of a user that are read: a weekly subscription of 38 years. */
const MOST = 2000

/** A transaction that a user sees. `product`: that links it at present; `entitlements`: that the product gives. */
export type UserTransaction = {
  lineage: number
  lineage_name: string
  platform: Store
  product: string | null
  entitlements: string[]
  transaction_id: string | null
  original_transaction_id: string | null
  order_id: string | null
  purchased_at: string
  expires_at: string | null
  period_type: 'normal' | 'trial' | 'intro' | null
  is_subscription: boolean
  is_family_shared: boolean
  auto_renewing: boolean
  auto_renew_off_at: string | null
  is_last: boolean
  revoked_at: string | null
}

const TRANSACTIONS = `
  select p.lineage, l.lineage as lineage_name, p.platform, p.product, array(select entitlement_id from entitlement_products e
      where e.environment = $1 and e.product_id = p.product order by 1) as entitlements,
    p.transaction_id, p.original_transaction_id, p.order_id, p.purchased_at, p.expires_at, p.period_type, p.is_subscription, p.is_family_shared,
    p.auto_renewing, p.auto_renew_off_at, p.is_last, case when coalesce(p.refunded_amount, p.amount) >= p.amount then p.refunded_at end as revoked_at
  from (select v.*, linked_product($1, v.platform, v.store_product_id, v.base_plan_id) as product from (
      select * from ${VISIBLE_PURCHASES} a order by purchased_at desc, id desc limit ${MOST}) v) p
  join lineages l on l.id = p.lineage
  order by p.purchased_at, p.id`

/** The transactions of a user and those shared with the user, the oldest first. */
export async function transactionsOfUser(db: Db, environment: Environment, user: string): Promise<UserTransaction[]> {
  const { rows } = await db.query<UserTransaction>({ name: 'user-transactions', text: TRANSACTIONS, values: [environment, user] })
  return rows
}

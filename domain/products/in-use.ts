import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/**
 * Whether a purchase of one of these products gives somebody access now: a definition lists the product, and the purchase belongs to
 * a user or is shared with one. A purchase counts for the product that links it, which one index look-up per purchase decides; so
 * that comes last.
 */
export async function isInUse(tx: Tx, environment: Environment, products: string[]): Promise<boolean> {
  const { rows } = await tx.query<{ used: boolean }>(
    `select exists (
       select 1 from environment_now($1) t
       cross join products d
       cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id),
         ('stripe', d.stripe_product_id), ('paddle', d.paddle_product_id)) link(platform, store_product_id)
       join purchases p on p.environment = $1 and p.platform = link.platform and p.store_product_id = link.store_product_id
       where d.environment = $1 and d.id = any($2)
         and exists (select 1 from entitlement_products e where e.environment = $1 and e.product_id = d.id)
         and p.purchased_at <= t and p.access_until > t
         and (p.user_id is not null
           or exists (select 1 from lineage_shares s where s.environment = $1 and s.lineage = p.lineage))
         and linked_product($1, p.platform, p.store_product_id, p.base_plan_id) = d.id
     ) as used`,
    [environment, products],
  )
  return rows[0]!.used
}

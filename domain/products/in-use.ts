import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/**
 * Whether a purchase of one of these products gives somebody access now: a definition lists the product, and the purchase belongs to
 * a user or is shared with one. Which product links a purchase is asked last, as it costs 50 µs each: now is a subquery, so that the
 * lapsed ones are gone before.
 */
export async function isInUse(tx: Tx, environment: Environment, products: string[]): Promise<boolean> {
  const { rows } = await tx.query<{ used: boolean }>(
    `select exists (
       select 1 from products d
       cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id),
         ('stripe', d.stripe_product_id), ('paddle', d.paddle_product_id)) link(platform, store_product_id)
       join purchases p on p.environment = $1 and p.platform = link.platform and p.store_product_id = link.store_product_id
       where d.environment = $1 and d.id = any($2)
         and exists (select 1 from entitlement_products e where e.environment = $1 and e.product_id = d.id)
         and p.purchased_at <= (select environment_now($1)) and p.access_until > (select environment_now($1))
         and (p.user_id is not null
           or exists (select 1 from lineage_shares s where s.environment = $1 and s.lineage = p.lineage))
         and linked_product($1, p.platform, p.store_product_id, p.base_plan_id) = d.id
     ) as used`,
    [environment, products],
  )
  return rows[0]!.used
}

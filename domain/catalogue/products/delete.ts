import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Holder, inUse } from '../../kernel/refusal.ts'
import { lockProduct, type Product } from './product.ts'

/** An active or paused experiment with a group whose offering contains the product. */
async function experimentOffering(tx: Tx, environment: Environment, id: string): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select 'experiment' as kind, e.id, e.name as title from offering_products l
     join offerings o on o.environment = $1 and o.id = l.offering_id
     join experiment_groups g on g.environment = $1 and g.id = o.variant_of
     join experiments e on e.environment = $1 and e.id = g.experiment_id
     where l.environment = $1 and l.product_id = $2 and e.status in ('active', 'paused') limit 1`,
    [environment, id],
  )
  return rows[0] ?? null
}

/**
 * Deletes a product that no valid purchase and no running experiment needs. The foreign keys of the lists remove the product from them. A
 * writer of a list locks its products first: so a list that is being written is either seen here or no longer finds the product. The lists
 * are locked in the order of their ids, as in every transaction that locks several.
 */
export async function deleteProduct(tx: Tx, environment: Environment, id: string): Promise<Product> {
  const product = await lockProduct(tx, environment, id, 'update')
  const holder = (await purchaseGivingAccess(tx, environment, [id])) ?? (await experimentOffering(tx, environment, id))
  if (holder) throw inUse('product', holder)
  await tx.query(
    `with lists as (
       select id from entitlements where environment = $1
         and id in (select entitlement_id from entitlement_products where environment = $1 and product_id = $2)
       order by id for no key update)
     update entitlements e set updated_at = date_trunc('second', environment_now($1)) from lists l
     where e.environment = $1 and e.id = l.id`,
    [environment, id],
  )
  await tx.query(
    `with lists as (
       select id from offerings where environment = $1
         and id in (select offering_id from offering_products where environment = $1 and product_id = $2)
       order by id for no key update)
     update offerings o set updated_at = date_trunc('second', environment_now($1)) from lists l
     where o.environment = $1 and o.id = l.id`,
    [environment, id],
  )
  await tx.query('delete from products where environment = $1 and id = $2', [environment, id])
  return product
}

/**
 * A purchase of one of these products that gives a user access now: an entitlement lists the product, and the purchase belongs to a user or
 * is shared with one. Null when there is none. The function `linked_product` costs 5 µs a purchase, so it is called last. `now` is a
 * subquery, so that purchases without access are filtered out before.
 */
export async function purchaseGivingAccess(tx: Tx, environment: Environment, products: string[]): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select 'purchase' as kind, p.id::text, 'user ' || p.user_id as title from products d
     cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id),
       ('stripe', d.stripe_product_id), ('paddle', d.paddle_product_id)) link(platform, store_product_id)
     join purchases p on p.environment = $1 and p.platform = link.platform and p.store_product_id = link.store_product_id
     where d.environment = $1 and d.id = any($2)
       and exists (select 1 from entitlement_products e where e.environment = $1 and e.product_id = d.id)
       and p.purchased_at <= (select environment_now($1)) and p.access_until > (select environment_now($1))
       and (p.user_id is not null
         or exists (select 1 from lineage_shares s where s.environment = $1 and s.lineage = p.lineage))
       and linked_product($1, p.platform, p.store_product_id, p.base_plan_id) = d.id
     limit 1`,
    [environment, products],
  )
  return rows[0] ?? null
}

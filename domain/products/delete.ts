import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { lockProduct, type Product } from './product.ts'

/** Whether the offering of a group of an active or paused experiment contains the product. */
async function isInExperiment(tx: Tx, environment: Environment, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select 1 from offering_products l
     join offerings o on o.environment = $1 and o.id = l.offering_id
     join experiment_groups g on g.environment = $1 and g.id = o.variant_of
     join experiments e on e.environment = $1 and e.id = g.experiment_id
     where l.environment = $1 and l.product_id = $2 and e.status in ('active', 'paused') limit 1`,
    [environment, id],
  )
  return rowCount === 1
}

/**
 * Deletes a product that no valid purchase and no running experiment needs. The foreign keys of the lists remove the product from them. A
 * writer of a list locks its products first: so a list that is being written is either seen here or no longer finds the product. The lists
 * are locked in the order of their ids, as in every transaction that locks several.
 */
export async function deleteProduct(tx: Tx, environment: Environment, id: string): Promise<Product> {
  const product = await lockProduct(tx, environment, id, 'update')
  if (await isInUse(tx, environment, [id])) throw conflict('a purchase of the product gives access at present')
  if (await isInExperiment(tx, environment, id)) throw conflict('a running experiment offers the product')
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
 * Whether a purchase of one of these products gives a user access now: an entitlement lists the product, and the purchase belongs to a
 * user or is shared with one. The function `linked_product` costs 50 µs a purchase, so it is called last. `now` is a subquery, so that
 * purchases without access are filtered out before.
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

import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { firstBlocking } from '../../kernel/references/uses.ts'
import { type Holder, inUse } from '../../kernel/refusal.ts'
import { lockProduct, type Product } from './product.ts'
import { EXPERIMENTS, purchasesNow } from './uses.ts'

/**
 * Deletes a product that no valid purchase and no running experiment needs. The foreign keys of the lists remove the product from them. A
 * writer of a list locks its products first: so a list that is being written is either seen here or no longer finds the product. The lists
 * are locked in the order of their ids, as in every transaction that locks several.
 */
export async function deleteProduct(tx: Tx, environment: Environment, id: string): Promise<Product> {
  const product = await lockProduct(tx, environment, id, 'update')
  const holder = (await purchaseGivingAccess(tx, environment, [id])) ?? (await firstBlocking(tx, environment, id, EXPERIMENTS))
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

/** A purchase of one of these products that gives a user access now; null when there is none. */
export async function purchaseGivingAccess(tx: Tx, environment: Environment, products: string[]): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select 'purchase' as kind, p.id::text, 'user ' || p.user_id as title from (${purchasesNow('= any ($2)')}) p where p.gives limit 1`,
    [environment, products],
  )
  return rows[0] ?? null
}

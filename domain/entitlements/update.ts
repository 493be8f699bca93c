import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { lockListed } from '../products/listed.ts'
import { notFound } from '../refusal.ts'
import { ENTITLEMENT_COLUMNS, type Entitlement, listProductsOf } from './definition.ts'
import { getEntitlement } from './find.ts'

export type EntitlementChanges = Partial<Pick<Entitlement, 'description' | 'product_ids'>>

async function lock(tx: Tx, environment: Environment, id: string): Promise<Entitlement> {
  const { rowCount } = await tx.query('select 1 from entitlements where environment = $1 and id = $2 for no key update', [environment, id])
  if (rowCount === 0) throw notFound('entitlement')
  // Read anew: what was waited for may have changed the list, which is not part of the locked row.
  return getEntitlement(tx, environment, id)
}

/** Changes the given fields; a list replaces the list. `after` is null when nothing changes. */
export async function updateEntitlement(
  tx: Tx,
  environment: Environment,
  id: string,
  changes: EntitlementChanges,
): Promise<{ before: Entitlement; after: Entitlement | null }> {
  if (changes.product_ids) {
    // An unknown definition is 404 whatever the list holds; the products are locked before it.
    await getEntitlement(tx, environment, id)
    await lockListed(tx, environment, changes.product_ids)
  }
  const before = await lock(tx, environment, id)
  const { description, product_ids } = { ...before, ...changes }
  const sameList = product_ids.length === before.product_ids.length && product_ids.every((product, i) => product === before.product_ids[i])
  if (sameList && description === before.description) return { before, after: null }
  if (!sameList) {
    await tx.query('delete from entitlement_products where environment = $1 and entitlement_id = $2', [environment, id])
    await listProductsOf(tx, environment, id, product_ids)
  }
  const { rows } = await tx.query<Entitlement>(
    `update entitlements set description = $3, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${ENTITLEMENT_COLUMNS}`,
    [environment, id, description],
  )
  return { before, after: rows[0]! }
}

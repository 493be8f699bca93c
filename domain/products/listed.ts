import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { Refusal } from '../refusal.ts'

const WELL_FORMED = /^[a-zA-Z0-9._:\- ]{1,255}$/

/**
 * Throws `invalid_product_id` or `product_not_in_project` unless every id of the body's `product_ids` names a product. The products
 * are locked against deletion until the end of the transaction, in the order of their ids: whoever writes a list calls this before
 * locking the list, as a deletion locks the product before its lists.
 */
export async function lockListed(tx: Tx, environment: Environment, ids: string[]): Promise<void> {
  const malformed = faults(ids, id => !WELL_FORMED.test(id), 'must be 1 to 255 characters of [a-zA-Z0-9._:- ]')
  if (malformed.length > 0) throw new Refusal('invalid_product_id', 'product_ids holds what is no product id', malformed)
  if (ids.length === 0) return
  const { rows } = await tx.query<{ id: string }>(
    'select id from products where environment = $1 and id = any($2) order by id for key share',
    [environment, ids],
  )
  const known = new Set(rows.map(row => row.id))
  const unknown = faults(ids, id => !known.has(id), 'names no product')
  if (unknown.length > 0) throw new Refusal('product_not_in_project', 'product_ids names products that do not exist', unknown)
}

const faults = (ids: string[], isWrong: (id: string) => boolean, message: string) =>
  ids.flatMap((id, i) => (isWrong(id) ? [{ field: `product_ids[${i}]`, message }] : []))

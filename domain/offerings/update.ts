import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { lockListed } from '../products/listed.ts'
import { invalidField, Refusal } from '../refusal.ts'
import { getForChange } from './find.ts'
import { dropListOf, listProductsOf, MAIN, OFFERING_COLUMNS, type Offering } from './offering.ts'

export type OfferingChanges = { tag?: number | null; product_ids?: string[] }

/** The tag is not changed here; a wish to change it is refused. */
function checkTag(offering: Offering, tag: number | null | undefined): void {
  if (tag === undefined) return
  if (tag === MAIN) throw new Refusal('cannot_set_main_directly', 'an offering is made the main one by v4SetMainOffering')
  if (offering.tag === MAIN) throw new Refusal('cannot_demote_main', 'this is the main offering: make another one the main one instead')
  if (tag !== 0 && tag !== null) throw invalidField('tag', 'must be 0 or null')
}

/** Replaces the product list. `after` is null when nothing changes. */
export async function updateOffering(
  tx: Tx,
  environment: Environment,
  id: string,
  { tag, product_ids }: OfferingChanges,
): Promise<{ before: Offering; after: Offering | null }> {
  const find = () => getForChange(tx, environment, id, 'cannot_patch_experiment_variant')
  const found = await find()
  checkTag(found, tag)
  if (!product_ids) return { before: found, after: null }
  await lockListed(tx, environment, product_ids)
  await tx.query('select 1 from offerings where environment = $1 and id = $2 for no key update', [environment, id])
  // The products are locked before the offering; it may have changed or gone until now.
  const before = await find()
  checkTag(before, tag)
  if (product_ids.length === before.product_ids.length && product_ids.every((product, i) => product === before.product_ids[i]))
    return { before, after: null }
  await dropListOf(tx, environment, id)
  await listProductsOf(tx, environment, id, product_ids)
  const { rows } = await tx.query<Offering>(
    `update offerings set updated_at = date_trunc('second', environment_now($1)) where environment = $1 and id = $2
     returning ${OFFERING_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}

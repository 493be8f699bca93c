import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { lockExistingProducts } from '../products/product.ts'
import { replaceProducts } from './offering.ts'

const variantId = (group: string) => `exp-${group}`

/**
 * Copies the present state of a regular offering into the variant offering of an experiment's group, and replaces an earlier copy. `tag` is
 * the tag of the source. Null when no regular offering has this id. Throws `conflict` when a regular offering has the id of the copy.
 */
export async function copyAsVariant(
  tx: Tx,
  environment: Environment,
  source: string,
  group: string,
): Promise<{ id: string; tag: number | null } | null> {
  const id = variantId(group)
  const found = await tx.query<{ tag: number | null; product_ids: string[] }>(
    `select tag, array(select l.product_id from offering_products l where l.environment = $1 and l.offering_id = $2 order by l.position)
       as product_ids from offerings where environment = $1 and id = $2 and variant_of is null`,
    [environment, source],
  )
  if (!found.rows[0]) return null
  const { tag, product_ids } = found.rows[0]
  // Products are locked before offerings, as in every transaction. A product that is being deleted is left out.
  const existing = await lockExistingProducts(tx, environment, product_ids)
  const { rowCount } = await tx.query(
    `insert into offerings (environment, id, variant_of, copied_from, created_at, updated_at)
     select $1, $2, $3, $4, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do update set updated_at = excluded.updated_at, copied_from = excluded.copied_from
       where offerings.variant_of = excluded.variant_of`,
    [environment, id, group, source],
  )
  if (rowCount === 0) throw conflict(`the id ${id} of the group's offering is taken`)
  await replaceProducts(
    tx,
    environment,
    id,
    product_ids.filter(product => existing.has(product)),
  )
  return { id, tag }
}

/** Deletes the variant offering of a group, if there is one. */
export async function dropVariant(tx: Tx, environment: Environment, group: string): Promise<void> {
  await tx.query('delete from offerings where environment = $1 and id = $2 and variant_of = $3', [environment, variantId(group), group])
}

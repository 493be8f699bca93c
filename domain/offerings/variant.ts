import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { dropListOf, listProductsOf } from './offering.ts'

const variantId = (group: string) => `exp-${group}`

/**
 * Copies a regular offering as it is now into the variant offering of an experiment's group, in place of an earlier copy. `tag` is
 * that of the source. Null: no regular offering has this id. Throws `conflict` when a regular offering has the id of the copy.
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
  // Products before offerings, as everybody locks them. One that is deleted at this moment is left out.
  const locked = await tx.query<{ id: string }>(
    'select id from products where environment = $1 and id = any($2) order by id for key share',
    [environment, product_ids],
  )
  const living = new Set(locked.rows.map(row => row.id))
  const { rowCount } = await tx.query(
    `insert into offerings (environment, id, variant_of, created_at, updated_at)
     select $1, $2, $3, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do update set updated_at = excluded.updated_at where offerings.variant_of = excluded.variant_of`,
    [environment, id, group],
  )
  if (rowCount === 0) throw conflict(`the id ${id} of the group's offering is taken`)
  await dropListOf(tx, environment, id)
  await listProductsOf(
    tx,
    environment,
    id,
    product_ids.filter(product => living.has(product)),
  )
  return { id, tag }
}

/** Removes the variant offering of a group, if there is one. */
export async function dropVariant(tx: Tx, environment: Environment, group: string): Promise<void> {
  await tx.query('delete from offerings where environment = $1 and id = $2 and variant_of = $3', [environment, variantId(group), group])
}

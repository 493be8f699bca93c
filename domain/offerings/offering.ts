import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { lockListed } from '../products/product.ts'
import { invalidField, notFound, Refusal, type RefusalCode } from '../refusal.ts'

/** An ordered group of products to sell. `tag`: 1 is the main one; 0 and null are not. */
export type Offering = { id: string; tag: number | null; product_ids: string[]; created_at: string; updated_at: string }

export const MAIN = 1

/** Of `offerings`. */
export const OFFERING_COLUMNS = `id, tag, created_at, updated_at, array(
    select l.product_id from offering_products l
    where l.environment = offerings.environment and l.offering_id = offerings.id order by l.position) as product_ids`

/** The list of an offering that has none. The products are locked (`lockListed`). */
export const listProductsOf = (tx: Tx, environment: Environment, id: string, products: string[]) =>
  tx.query(
    `insert into offering_products (environment, offering_id, position, product_id)
     select $1, $2, p.n, p.id from unnest($3::text[]) with ordinality p(id, n)`,
    [environment, id, products],
  )

export const dropListOf = (tx: Tx, environment: Environment, id: string) =>
  tx.query('delete from offering_products where environment = $1 and offering_id = $2', [environment, id])

/** A regular offering: the copies of experiments are not found. */
export async function getOffering(db: Db, environment: Environment, id: string): Promise<Offering> {
  const { rows } = await db.query<Offering>({
    name: 'get-offering',
    text: `select ${OFFERING_COLUMNS} from offerings where environment = $1 and id = $2 and variant_of is null`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('offering')
  return rows[0]
}

type VariantRefusal = Extract<RefusalCode, `cannot_${string}_experiment_variant`>

/** An offering about to be changed; the copy of an experiment is refused with the code of what was to be done to it. */
export async function getForChange(tx: Tx, environment: Environment, id: string, refusal: VariantRefusal): Promise<Offering> {
  const { rows } = await tx.query<Offering & { is_variant: boolean }>(
    `select ${OFFERING_COLUMNS}, variant_of is not null as is_variant from offerings where environment = $1 and id = $2`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('offering')
  const { is_variant, ...offering } = rows[0]
  if (is_variant) throw new Refusal(refusal, 'the offering belongs to the group of an experiment')
  return offering
}

const LISTED = { table: 'offerings', columns: OFFERING_COLUMNS, order: 'oldest' as const, only: 'variant_of is null' }

/** Oldest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listOfferings = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Offering>> =>
  pageOf(db, LISTED, environment, { limit, after })

/**
 * Whether there is a main offering, and which, is decided by one writer per environment at a time: with none there yet, no row could
 * be locked. Taken after the locks of products and before those of offerings.
 */
export const lockMain = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.mainOffering, environment])

export type NewOffering = Pick<Offering, 'id' | 'tag' | 'product_ids'>

/** The first offering of an environment becomes the main one. */
export async function createOffering(tx: Tx, environment: Environment, given: NewOffering): Promise<Offering> {
  const { id, tag, product_ids } = given
  if (tag === MAIN) throw new Refusal('cannot_set_main_directly', 'an offering is made the main one by v4SetMainOffering')
  if (tag !== 0 && tag !== null) throw invalidField('tag', 'must be 0 or null')
  await lockListed(tx, environment, product_ids)
  await lockMain(tx, environment)
  const { rows } = await tx.query<Pick<Offering, 'tag' | 'created_at' | 'updated_at'>>(
    `insert into offerings (environment, id, tag, created_at, updated_at)
     select $1, $2,
       case when exists (select 1 from offerings where environment = $1 and tag = 1 and variant_of is null) then $3::smallint else 1 end,
       t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning tag, created_at, updated_at`,
    [environment, id, tag],
  )
  if (!rows[0]) throw new Refusal('offering_already_exists', `offering ${id} exists already`)
  await listProductsOf(tx, environment, id, product_ids)
  return { ...given, ...rows[0] }
}

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

/** Moves the main mark. Both rows are locked in the order of their ids, as by the deletion of a product of both. `after` is null when it is there already. */
export async function setMainOffering(tx: Tx, environment: Environment, id: string): Promise<{ before: Offering; after: Offering | null }> {
  await lockMain(tx, environment)
  await tx.query(
    `select 1 from offerings where environment = $1
     and id in (select $2 union all select id from offerings where environment = $1 and tag = 1 and variant_of is null)
     order by id for no key update`,
    [environment, id],
  )
  const before = await getForChange(tx, environment, id, 'cannot_setmain_experiment_variant')
  if (before.tag === MAIN) return { before, after: null }
  // First the old one: the unique index on the main offering looks at each row as it is written.
  await tx.query(
    `update offerings set tag = 0, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and tag = 1 and variant_of is null`,
    [environment],
  )
  const { rows } = await tx.query<Offering>(
    `update offerings set tag = 1, updated_at = date_trunc('second', environment_now($1)) where environment = $1 and id = $2
     returning ${OFFERING_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}

/** Removes an offering; the main one only as the last one. */
export async function deleteOffering(tx: Tx, environment: Environment, id: string): Promise<Offering> {
  await lockMain(tx, environment)
  await tx.query('select 1 from offerings where environment = $1 and id = $2 for update', [environment, id])
  const before = await getForChange(tx, environment, id, 'cannot_delete_experiment_variant')
  if (before.tag === MAIN) {
    const others = await tx.query('select 1 from offerings where environment = $1 and variant_of is null and id <> $2 limit 1', [
      environment,
      id,
    ])
    if (others.rowCount !== 0) throw new Refusal('cannot_delete_main', 'this is the main offering: make another one the main one first')
  }
  await tx.query('delete from offerings where environment = $1 and id = $2', [environment, id])
  return before
}

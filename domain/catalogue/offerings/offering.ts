import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { invalidField, notFound, Refusal, type RefusalCode } from '../../kernel/refusal.ts'
import { lockListedProducts } from '../products/product.ts'

/** An ordered group of products to sell. `tag`: 1 marks the main offering; 0 and null do not. */
export type Offering = { id: string; tag: number | null; product_ids: string[]; created_at: string; updated_at: string }

const MAIN = 1

const OFFERING_COLUMNS = `id, tag, created_at, updated_at, array(
    select l.product_id from offering_products l
    where l.environment = offerings.environment and l.offering_id = offerings.id order by l.position) as product_ids`

/** Returns regular offerings only: the copies of experiments are not found. */
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

/** An offering that is about to be changed. Throws `refusal`, the code of the change, for the copy of an experiment. */
async function getForChange(tx: Tx, environment: Environment, id: string, refusal: VariantRefusal): Promise<Offering> {
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

export const listOfferings = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Offering>> =>
  pageOf(db, LISTED, environment, { limit, after })

/**
 * One writer per environment at a time decides whether there is a main offering, and which. An advisory lock, because there is no row to
 * lock before the first offering. Take this lock after the locks of products and before the locks of offerings.
 */
const lockMain = (tx: Tx, environment: Environment) => tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.mainOffering, environment])

async function lockOffering(tx: Tx, environment: Environment, id: string, strength: 'update' | 'no key update'): Promise<void> {
  await tx.query(`select 1 from offerings where environment = $1 and id = $2 for ${strength}`, [environment, id])
}

type NewOffering = Pick<Offering, 'id' | 'tag' | 'product_ids'>

/** The first offering of an environment becomes the main one. */
export async function createOffering(tx: Tx, environment: Environment, given: NewOffering): Promise<Offering> {
  const { id, tag, product_ids } = given
  if (tag === MAIN) throw new Refusal('cannot_set_main_directly', 'to make an offering the main one, use v4SetMainOffering')
  if (tag !== 0 && tag !== null) throw invalidField('tag', 'must be 0 or null')
  await lockListedProducts(tx, environment, product_ids)
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
  await replaceProducts(tx, environment, id, product_ids)
  return { ...given, ...rows[0] }
}

type OfferingChanges = { tag?: number | null; product_ids?: string[] }

/** Throws when a request sets a tag that an update does not set. */
function checkTag(offering: Offering, tag: number | null | undefined): void {
  if (tag === undefined) return
  if (tag === MAIN) throw new Refusal('cannot_set_main_directly', 'to make an offering the main one, use v4SetMainOffering')
  if (offering.tag === MAIN)
    throw new Refusal('cannot_demote_main', 'the main offering cannot be demoted: make another offering the main one')
  if (tag !== 0 && tag !== null) throw invalidField('tag', 'must be 0 or null')
}

/** Replaces the product list of an offering. The products are locked. */
export async function replaceProducts(tx: Tx, environment: Environment, id: string, products: string[]): Promise<void> {
  await tx.query('delete from offering_products where environment = $1 and offering_id = $2', [environment, id])
  await tx.query(
    `insert into offering_products (environment, offering_id, position, product_id)
     select $1, $2, p.n, p.id from unnest($3::text[]) with ordinality p(id, n)`,
    [environment, id, products],
  )
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
  await lockListedProducts(tx, environment, product_ids)
  await lockOffering(tx, environment, id, 'no key update')
  // The products are locked before the offering, so the offering may have changed or been deleted since it was read.
  const before = await find()
  checkTag(before, tag)
  if (product_ids.length === before.product_ids.length && product_ids.every((product, i) => product === before.product_ids[i]))
    return { before, after: null }
  await replaceProducts(tx, environment, id, product_ids)
  const { rows } = await tx.query<Offering>(
    `update offerings set updated_at = date_trunc('second', environment_now($1)) where environment = $1 and id = $2
     returning ${OFFERING_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}

/**
 * Makes an offering the main one. The former main offering and this one are locked in the order of their ids, as by the deletion of a
 * product that both contain. `after` is null when the offering is the main one already.
 */
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
  // The former main offering first: the unique index on the main offering checks each row as it is written.
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

/** Deletes an offering. The main offering can only be deleted when it is the last one. */
export async function deleteOffering(tx: Tx, environment: Environment, id: string): Promise<Offering> {
  await lockMain(tx, environment)
  await lockOffering(tx, environment, id, 'update')
  const before = await getForChange(tx, environment, id, 'cannot_delete_experiment_variant')
  if (before.tag === MAIN) {
    const others = await tx.query('select 1 from offerings where environment = $1 and variant_of is null and id <> $2 limit 1', [
      environment,
      id,
    ])
    if (others.rowCount !== 0)
      throw new Refusal('cannot_delete_main', 'the main offering cannot be deleted: make another offering the main one first')
  }
  await tx.query('delete from offerings where environment = $1 and id = $2', [environment, id])
  return before
}

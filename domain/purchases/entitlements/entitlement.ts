import type { Db, Tx } from '../../../store/connect.ts'
import { purchaseGivingAccess } from '../../catalogue/products/delete.ts'
import { lockListedProducts } from '../../catalogue/products/product.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { automationNaming } from '../../kernel/references/automation-naming.ts'
import { alreadyExists, conflict, type Holder, inUse, notFound } from '../../kernel/refusal.ts'
import { GRANTS } from './uses.ts'

/** An access right, and the products that give it, in the caller's order. */
export type Entitlement = { id: string; description: string | null; product_ids: string[]; created_at: string; updated_at: string }

/** Columns of `entitlements`. */
const ENTITLEMENT_COLUMNS = `id, description, created_at, updated_at, array(
    select l.product_id from entitlement_products l
    where l.environment = entitlements.environment and l.entitlement_id = entitlements.id order by l.position) as product_ids`

export async function getEntitlement(db: Db, environment: Environment, id: string): Promise<Entitlement> {
  const { rows } = await db.query<Entitlement>({
    name: 'get-entitlement',
    text: `select ${ENTITLEMENT_COLUMNS} from entitlements where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('entitlement')
  return rows[0]
}

const LISTED = { table: 'entitlements', columns: ENTITLEMENT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row `after`. Returns `limit` + 1 rows when more rows follow. */
export const listEntitlements = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Entitlement>> =>
  pageOf(db, LISTED, environment, { limit, after })

type NewEntitlement = Pick<Entitlement, 'id' | 'description' | 'product_ids'>

/** The caller has locked the products (`lockListed`). */
const insertProducts = (tx: Tx, environment: Environment, id: string, products: string[]) =>
  tx.query(
    `insert into entitlement_products (environment, entitlement_id, position, product_id)
     select $1, $2, p.n, p.id from unnest($3::text[]) with ordinality p(id, n)`,
    [environment, id, products],
  )

/** Throws `already_exists` when the id is taken: the unique key decides between two concurrent requests. */
export async function createEntitlement(tx: Tx, environment: Environment, given: NewEntitlement): Promise<Entitlement> {
  const { id, description, product_ids } = given
  await lockListedProducts(tx, environment, product_ids)
  const { rows } = await tx.query<Pick<Entitlement, 'created_at' | 'updated_at'>>(
    `insert into entitlements (environment, id, description, created_at, updated_at)
     select $1, $2, $3, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning created_at, updated_at`,
    [environment, id, description],
  )
  if (!rows[0]) throw alreadyExists(`entitlement ${id} exists already`)
  await insertProducts(tx, environment, id, product_ids)
  return { ...given, ...rows[0] }
}

type EntitlementChanges = Partial<Pick<Entitlement, 'description' | 'product_ids'>>

async function lockEntitlement(tx: Tx, environment: Environment, id: string): Promise<Entitlement> {
  const { rowCount } = await tx.query('select 1 from entitlements where environment = $1 and id = $2 for no key update', [environment, id])
  if (rowCount === 0) throw notFound('entitlement')
  // Read after the lock: a transaction that held the lock may have changed the list, and the list is not part of the locked row.
  return getEntitlement(tx, environment, id)
}

/** Changes the given fields. A given list replaces the stored list. `after` is null when nothing changes. */
export async function updateEntitlement(
  tx: Tx,
  environment: Environment,
  id: string,
  changes: EntitlementChanges,
): Promise<{ before: Entitlement; after: Entitlement | null }> {
  if (changes.product_ids) {
    // An unknown entitlement is `not_found` for every list. The products are locked before the entitlement.
    await getEntitlement(tx, environment, id)
    await lockListedProducts(tx, environment, changes.product_ids)
  }
  const before = await lockEntitlement(tx, environment, id)
  const { description, product_ids } = { ...before, ...changes }
  const sameList = product_ids.length === before.product_ids.length && product_ids.every((product, i) => product === before.product_ids[i])
  if (sameList && description === before.description) return { before, after: null }
  if (!sameList) {
    await tx.query('delete from entitlement_products where environment = $1 and entitlement_id = $2', [environment, id])
    await insertProducts(tx, environment, id, product_ids)
  }
  const { rows } = await tx.query<Entitlement>(
    `update entitlements set description = $3, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${ENTITLEMENT_COLUMNS}`,
    [environment, id, description],
  )
  return { before, after: rows[0]! }
}

async function userWithGrant(tx: Tx, environment: Environment, id: string): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(`select 'user' as kind, user_id as id, null as title from (${GRANTS}) g where gives limit 1`, [
    environment,
    id,
  ])
  return rows[0] ?? null
}

/**
 * Deletes an entitlement. Throws `conflict` while a user has it, or while an active or paused automation grants it. New grants wait for
 * this row lock and then find no entitlement. The renewal of a lapsed grant may leave the entitlement's row untouched. The statement that deletes
 * the lapsed grants waits for such a renewal; a grant that became active stays, and the deletion is refused.
 */
export async function deleteEntitlement(tx: Tx, environment: Environment, id: string): Promise<Entitlement> {
  const locked = await tx.query('select 1 from entitlements where environment = $1 and id = $2 for update', [environment, id])
  if (locked.rowCount === 0) throw notFound('entitlement')
  const before = await getEntitlement(tx, environment, id)
  const holder =
    (await userWithGrant(tx, environment, id)) ??
    (await purchaseGivingAccess(tx, environment, before.product_ids)) ??
    (await automationNaming(tx, environment, 'entitlement', id))
  if (holder) throw inUse('entitlement', holder)
  await tx.query(`delete from grants using environment_now($1) t where environment = $1 and entitlement_id = $2 and expires_at <= t`, [
    environment,
    id,
  ])
  const removed = await tx.query(
    `delete from entitlements where environment = $1 and id = $2
     and not exists (select 1 from grants where environment = $1 and entitlement_id = $2)`,
    [environment, id],
  )
  if (removed.rowCount === 0) {
    const renewed = await userWithGrant(tx, environment, id)
    throw renewed ? inUse('entitlement', renewed) : conflict('the entitlement was granted meanwhile: repeat the request')
  }
  return before
}

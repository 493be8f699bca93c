import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { PURCHASE_COLUMNS, type PurchaseRow, type Store } from './subscriptions/purchase.ts'

/**
 * SQL: the purchases that user `$2` sees in environment `$1`: the user's own, and those of lineages shared with the user. The ordered range leaves
 * one index to a plan that was made while the table was small.
 */
export const VISIBLE_PURCHASES = `(
  (select * from purchases where environment = $1 and user_id >= $2 and user_id <= $2 order by user_id, purchased_at, id)
  union all
  select s.* from lineage_shares h join purchases s on s.lineage = h.lineage where h.environment = $1 and h.user_id = $2)`

const MAX_ID = 2n ** 63n - 1n

/** A purchase that the user sees. Throws `not_found` for an unknown user or purchase. */
export async function getPurchase(db: Db, environment: Environment, user: string, id: string): Promise<PurchaseRow> {
  if (BigInt(id) > MAX_ID) throw notFound('purchase')
  const { rows } = await db.query<PurchaseRow>({
    name: 'get-purchase',
    text: `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage
           where p.environment = $1 and p.id = $3 and (p.user_id = $2
             or exists (select 1 from lineage_shares h where h.environment = $1 and h.user_id = $2 and h.lineage = p.lineage))`,
    values: [environment, user, id],
  })
  if (!rows[0]) throw notFound('purchase')
  return rows[0]
}

/** A user's purchases, latest first. Returns `limit` + 1 rows when more rows follow. `restarted`: the cursor names no purchase of the user. */
export async function listPurchases(
  db: Db,
  environment: Environment,
  user: string,
  { limit, after, platforms }: { limit: number; after: string | undefined; platforms: Store[] },
): Promise<{ rows: PurchaseRow[]; restarted: boolean }> {
  const cursor = after !== undefined && /^[0-9]{1,18}$/.test(after) ? after : null
  const first = await db.query<{ at: string | null; id: string | null }>({
    name: 'purchases-cursor',
    text: `select c.purchased_at::text as at, c.id::text as id from users u
           left join lateral (select p.purchased_at, p.id from ${VISIBLE_PURCHASES} p where p.id = $3) c on true
           where u.environment = $1 and u.id = $2`,
    values: [environment, user, cursor],
  })
  const from = first.rows[0]
  if (!from) throw notFound('user')
  const { rows } = await db.query<PurchaseRow>({
    name: 'list-purchases',
    text: `select ${PURCHASE_COLUMNS} from (
             select * from ${VISIBLE_PURCHASES} v
             where ($3::timestamptz is null or (v.purchased_at, v.id) < ($3, $4::bigint)) and (cardinality($5::text[]) = 0 or v.platform = any($5))
             order by v.purchased_at desc, v.id desc limit $6) p
           join lineages l on l.id = p.lineage order by p.purchased_at desc, p.id desc`,
    values: [environment, user, from.at, from.id, platforms, limit + 1],
  })
  return { rows, restarted: after !== undefined && from.id === null }
}

import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from './purchase.ts'

/** Purchases that user `$2` sees in environment `$1`: their own, and those of lineages that are shared with them. */
export const VISIBLE = `(
  select * from purchases where environment = $1 and user_id = $2
  union all
  select s.* from lineage_shares h join purchases s on s.lineage = h.lineage where h.environment = $1 and h.user_id = $2)`

const MAX_ID = 2n ** 63n - 1n

/** One purchase that the user sees. Throws `not_found` for an unknown user or purchase. */
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

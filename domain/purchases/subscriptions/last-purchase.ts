import type { Tx } from '../../../store/connect.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from './purchase.ts'

/** The purchase of a lineage whose period begins last. Undefined: the lineage has none. */
export async function lastPurchaseOf(tx: Tx, lineage: number): Promise<PurchaseRow | undefined> {
  const { rows } = await tx.query<PurchaseRow>({
    name: 'last-purchase-of-lineage',
    text: `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage
           where p.lineage = $1 order by p.purchased_at desc, p.id desc limit 1`,
    values: [lineage],
  })
  return rows[0]
}

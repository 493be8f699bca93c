import type { Tx } from '../../store/connect.ts'
import type { Emission } from './emit.ts'
import { type PurchaseRow, recordedAt, shownProduct } from './subscriptions/purchase.ts'

/** A notification of a store that is an event by itself. `at` in ms. */
export type NoticeRow = { lineage: number; subject: string; at: number; slug: string; id: string; recorded_at: string }

/** The notices of the lineages that a store has reported. */
export async function noticesOf(tx: Tx, purchases: PurchaseRow[]): Promise<NoticeRow[]> {
  const lineages = [...new Set(purchases.filter(({ subject }) => subject !== null).map(({ lineage }) => lineage))]
  if (lineages.length === 0) return []
  const { rows } = await tx.query<NoticeRow>({
    name: 'store-notices',
    text: `select s.lineage, s.subject, s.stated_at as at, s.said ->> 'slug' as slug, s.said ->> 'id' as id, s.recorded_at
           from unnest($1::bigint[]) k(lineage) cross join lateral (
             select * from store_statements where lineage = k.lineage and kind = 'notice' offset 0) s order by s.stated_at, s.tie`,
    values: [lineages],
  })
  return rows
}

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** The event of a notice of a lineage. The event belongs to the transaction that the notice names, else to the last transaction of the lineage. */
function noticeEventOf(purchases: PurchaseRow[]): (notice: NoticeRow) => Emission[] {
  // Where several have one subject the first one counts: the last entry of a map overwrites the others.
  const bySubject = new Map(purchases.map(purchase => [purchase.subject, purchase] as const).reverse())
  const known = new Set(purchases.flatMap(({ emitted }) => emitted))
  return ({ subject, at, slug, id, recorded_at }) => {
    const purchase = bySubject.get(subject) ?? purchases.at(-1)
    if (!purchase || purchase.is_family_shared) return []
    const name = `${purchase.platform}:${id}`
    if (known.has(name)) return []
    return [{ purchase, slug, at: iso(at), emittedAs: name, id: name, fact: { at: iso(at), recorded: recorded_at } }]
  }
}

/** One event for each lineage and each product that no product of the project linked when the store named it first. */
function unmappedEvents(purchases: PurchaseRow[]): Emission[] {
  const byProduct = Map.groupBy(
    purchases.filter(purchase => purchase.is_unmapped && !purchase.is_family_shared),
    shownProduct,
  )
  return [...byProduct].flatMap(([product, of]): Emission[] => {
    const purchase = of[0]!
    if (of.some(({ emitted }) => emitted.includes('unmapped'))) return []
    const { lineage, created_at } = purchase
    const fact = { at: purchase.purchased_at, recorded: recordedAt(purchase) }
    return [{ purchase, slug: 'unmapped_product', at: created_at, emittedAs: 'unmapped', id: `${lineage}:unmapped:${product}`, fact }]
  })
}

/** The events that only stores cause and that are not emitted yet. */
export function storeEvents(purchases: PurchaseRow[], notices: NoticeRow[]): Emission[] {
  const byLineage = Map.groupBy(purchases, ({ lineage }) => lineage)
  const noticed = new Set(notices.map(({ lineage }) => lineage))
  const eventOf = new Map([...noticed].map(lineage => [lineage, noticeEventOf(byLineage.get(lineage) ?? [])]))
  return [...notices.flatMap(notice => eventOf.get(notice.lineage)!(notice)), ...[...byLineage.values()].flatMap(unmappedEvents)]
}

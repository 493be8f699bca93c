import type { Tx } from '../../store/connect.ts'
import { chain, runsOf } from './access-periods.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import { periodOf, type RecordedPeriod } from './recorded.ts'

export type Derived = { id: number; access_until: string; run_started_at: string | null; is_last: boolean }

const iso = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : 'infinity')

function deriveLineage(purchases: FoldedPurchase[]): Derived[] {
  const oneTime = purchases.filter(({ is_subscription }) => !is_subscription)
  const links = chain<RecordedPeriod>(purchases.filter(({ is_subscription }) => is_subscription).map(periodOf))
  return [
    ...oneTime.map(purchase => {
      const { refundedAt } = periodOf(purchase)
      return { id: purchase.id, access_until: iso(refundedAt ?? Number.POSITIVE_INFINITY), run_started_at: null, is_last: true }
    }),
    ...runsOf(links).flatMap(run =>
      run.map(link => ({
        id: link.period.purchase.id,
        access_until: iso(link.accessUntil),
        run_started_at: run[0]!.period.purchase.purchased_at,
        is_last: link === links.at(-1),
      })),
    ),
  ]
}

/** Of each purchase the end of its access, the start of its run, and whether it is the last. The lineages are whole. */
export const derivedOf = (purchases: FoldedPurchase[]): Derived[] =>
  [...Map.groupBy(purchases, ({ lineage }) => lineage).values()].flatMap(deriveLineage)

/**
 * Writes the access of the lineages of which a posted refund gave something back: whoever posts a refund changes no purchase. `purchases`: all of their
 * users, whose rows are locked.
 */
export async function storeAccess(tx: Tx, purchases: FoldedPurchase[]): Promise<void> {
  const refunded = new Set(purchases.flatMap(({ lineage, posted_back }) => (posted_back.length > 0 ? [lineage] : [])))
  if (refunded.size === 0) return
  const all = derivedOf(purchases.filter(({ lineage }) => refunded.has(lineage)))
  await tx.query({
    name: 'store-access',
    text: `update purchases p set access_until = d.access_until, run_started_at = d.run_started_at, is_last = d.is_last
           from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::boolean[]) d(id, access_until, run_started_at, is_last)
           where p.id = d.id and (p.access_until, p.run_started_at, p.is_last) is distinct from (d.access_until, d.run_started_at, d.is_last)`,
    values: [all.map(d => d.id), all.map(d => d.access_until), all.map(d => d.run_started_at), all.map(d => d.is_last)],
  })
}

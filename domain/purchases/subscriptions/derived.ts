import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { flatMapStepwise, type Stepwise, stepwise } from '../../kernel/in-steps.ts'
import { chain, runsOf } from './access-periods.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import { periodOf, type RecordedPeriod } from './recorded.ts'

/** `access`: until when, in ms; Infinity: for ever. */
export type Derived = { id: number; access: number; run_started_at: string | null; is_last: boolean }

function* deriveLineage(purchases: FoldedPurchase[]): Stepwise<Derived[]> {
  const derived: Derived[] = []
  const periods = yield* flatMapStepwise(purchases, purchase => [periodOf(purchase)])
  for (const { purchase, refundedAt } of periods.filter(({ purchase }) => !purchase.is_subscription))
    derived.push({ id: purchase.id, access: refundedAt ?? Number.POSITIVE_INFINITY, run_started_at: null, is_last: true })
  const links = chain<RecordedPeriod>(periods.filter(({ purchase }) => purchase.is_subscription))
  const last = links.at(-1)
  for (const run of runsOf(links)) {
    const run_started_at = run[0]!.period.purchase.purchased_at
    for (const link of run) {
      derived.push({ id: link.period.purchase.id, access: link.accessUntil, run_started_at, is_last: link === last })
      yield
    }
  }
  return derived
}

/** Computes for each purchase the end of its access, the start of its run, and whether it is the last. The lineages are complete. */
export function* derivedInSteps(purchases: FoldedPurchase[]): Stepwise<Derived[]> {
  const derived: Derived[] = []
  for (const of of Map.groupBy(purchases, ({ lineage }) => lineage).values()) for (const one of yield* deriveLineage(of)) derived.push(one)
  return derived
}

const timeSql = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : 'infinity')

/** Rows of one statement that writes them. */
const ROWS_AT_ONCE = 2_000

/** The rows to write, in parts: the rows, and their columns in the order of `Derived`. */
export function* derivedColumns<D extends Derived>(all: D[]): Generator<{ columns: (string | null)[]; rows: D[] }> {
  for (let from = 0; from < all.length; from += ROWS_AT_ONCE) {
    const rows = all.slice(from, from + ROWS_AT_ONCE)
    const columns = [
      arrayOf(rows, ({ id }) => id),
      arrayOf(rows, ({ access }) => timeSql(access)),
      arrayOf(rows, ({ run_started_at }) => run_started_at),
      arrayOf(rows, ({ is_last }) => is_last),
    ]
    yield { columns, rows }
  }
}

/**
 * Writes the access of the lineages in which posted refunds count: a posted refund changes no purchase by itself. `purchases`: all
 * purchases of the users, whose rows are locked.
 */
export async function storeAccess(tx: Tx, purchases: FoldedPurchase[]): Promise<void> {
  const refunded = new Set(purchases.flatMap(({ lineage, posted_back }) => (posted_back.length > 0 ? [lineage] : [])))
  if (refunded.size === 0) return
  const all = await stepwise(derivedInSteps(purchases.filter(({ lineage }) => refunded.has(lineage))))
  for (const { columns } of derivedColumns(all))
    await tx.query({
      name: 'store-access',
      text: `update purchases p set access_until = d.access_until, run_started_at = d.run_started_at, is_last = d.is_last
             from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::boolean[]) d(id, access_until, run_started_at, is_last)
             where p.id = d.id and (p.access_until, p.run_started_at, p.is_last) is distinct from (d.access_until, d.run_started_at, d.is_last)`,
      values: columns,
    })
}

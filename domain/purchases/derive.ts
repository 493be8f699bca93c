import { arrayOf } from '../../store/array-literal.ts'
import type { Tx } from '../../store/connect.ts'
import { flatMapStepwise, stepwise } from '../kernel/in-steps.ts'
import type { Emission } from './emit.ts'
import { type Derived, derivedColumns, derivedInSteps } from './subscriptions/derived.ts'
import type { HistoryPurchase } from './subscriptions/folded-purchase.ts'

/** Whether a purchase has other derived columns than those that are stored. */
const isChanged = ({ id, access, run_started_at, is_last }: Derived, stored: Map<number, HistoryPurchase>): boolean => {
  const before = stored.get(id)!
  return before.stored_access !== access || before.run_started_at !== run_started_at || before.is_last !== is_last
}

const DERIVE = `update purchases p set access_until = d.access_until, run_started_at = d.run_started_at, is_last = d.is_last,
    emitted = p.emitted || array(select jsonb_array_elements_text(d.emitted)), refund_told = coalesce(d.refund_told, p.refund_told),
    taken_back_told = coalesce(d.taken_back_told, p.taken_back_told), credit_told = coalesce(d.credit_told, p.credit_told)
  from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::boolean[], $5::jsonb[], $6::numeric[],
    $7::numeric[], $8::numeric[]) d(id, access_until, run_started_at, is_last, emitted, refund_told, taken_back_told, credit_told)
  where p.id = d.id and (p.access_until, p.run_started_at, p.is_last, d.emitted)
    is distinct from (d.access_until, d.run_started_at, d.is_last, '[]'::jsonb)`

/**
 * Writes the derived columns of each purchase: the end of its access, the start of its run, whether it is the last, and which events it has
 * emitted. Only the purchases that differ from what was read are sent to Postgres: a renewal changes one or two of its lineage.
 */
export async function storeDerived(tx: Tx, purchases: HistoryPurchase[], emissions: Emission[]): Promise<void> {
  const of = Map.groupBy(emissions, ({ purchase }) => purchase.id)
  const stored = new Map(purchases.map(purchase => [purchase.id, purchase]))
  const all = await stepwise(derivedInSteps(purchases))
  const changed = await stepwise(flatMapStepwise(all, one => (of.has(one.id) || isChanged(one, stored) ? [one] : [])))
  const emitted = (id: number) => JSON.stringify((of.get(id) ?? []).map(({ emittedAs }) => emittedAs))
  const refundReported = (id: number) => of.get(id)?.findLast(e => e.refundReported !== undefined)?.refundReported ?? null
  const creditReported = (id: number) => of.get(id)?.find(e => e.creditReported !== undefined)?.creditReported ?? null
  const takenBackReported = (id: number) => of.get(id)?.find(e => e.takenBackReported !== undefined)?.takenBackReported ?? null
  for (const { columns, rows } of derivedColumns(changed)) {
    const emittedColumns = [emitted, refundReported, takenBackReported, creditReported].map(column => arrayOf(rows, ({ id }) => column(id)))
    await tx.query({ name: 'derive-purchases', text: DERIVE, values: [...columns, ...emittedColumns] })
  }
}

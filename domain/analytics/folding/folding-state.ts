import type { Db } from '../../../store/connect.ts'
import { MARKED_ENVIRONMENTS } from '../../durable/marks/mark.ts'

/**
 * Whether the facts of figures are up to date. `marked`: users to be folded, and `oldest_seconds`: how long the first of them has waited.
 * `set_aside`: users who cannot be folded. Both are counted up to 10,000. `drifted`: users whose facts the last audit found different from a new
 * fold. The totals are those of all audits.
 */
export type FoldingState = {
  marked: number
  oldest_seconds: number
  set_aside: number
  drifted: number
  drifted_total: number
  compared_total: number
}

/** To count a backlog to its end would take time while the database is busiest. */
const MOST_COUNTED = 10_000

// Reads at most 20,000 index entries, and two for each environment with marks.
const STATE = `with recursive ${MARKED_ENVIRONMENTS}
  select (select count(*) from (select from stale_users limit ${MOST_COUNTED}) s)::int as marked,
    (select count(*) from (select from set_aside_users limit ${MOST_COUNTED}) s)::int as set_aside,
    (select coalesce(max(extract(epoch from clock_timestamp() - o.since)), 0) from marked m cross join lateral (
      select since from stale_users where environment = m.environment order by since, user_no limit 1) o)::float8 as oldest_seconds,
    coalesce(a.drifted, 0) as drifted, coalesce(a.drifted_total, 0) as drifted_total, coalesce(a.compared_total, 0) as compared_total
  from (select) one left join fact_audit a on true`

export async function readFoldingState(db: Db): Promise<FoldingState> {
  const { rows } = await db.query<FoldingState>({ name: 'folding-state', text: STATE })
  return rows[0]!
}

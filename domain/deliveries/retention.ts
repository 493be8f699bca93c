import type { Db } from '../../store/connect.ts'
import { addToLedgerHistory } from '../ledger-history/history.ts'

const KEPT_DAYS = 30

// A replay may open a delivery again while this statement waits for the row: the condition is checked again under the lock. A delivery whose
// run has not read the result yet (the automation is paused) stays: without the delivery the run would record a success as a failure.
const DROP = `
with old as materialized (
  select d.number from environments e cross join lateral (
    select number from deliveries v where environment = e.id and ended_at < now() + e.clock_offset - make_interval(days => $1)
      and not (run_id is not null and exists (select 1 from automation_runs r
        where r.environment = v.environment and r.id = v.run_id and r.finished_at is null))
    order by ended_at limit $2) d limit $2
), locked as materialized (
  select d.number from deliveries d where d.number = any (array(select number from old)) and d.ended_at is not null and d.status in ('delivered', 'failed')
  order by d.number for update skip locked
), deleted as (
  delete from deliveries d using locked l where d.number = l.number returning d.environment, d.status, d.reason, d.created_at
), remembered as (
  ${addToLedgerHistory({ kind: 'deliveries', from: 'deleted', due: 'created_at', outcome: 'status', reason: 'reason' })}
)
select count(*)::int as dropped from deleted`

/** Deletes deliveries 30 days after their end, by the clock of their environment; at most `batch` at once. The ledger still counts them. */
export async function dropOldDeliveries(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [KEPT_DAYS, batch])
  return rows[0]!.dropped
}

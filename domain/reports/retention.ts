import type { Db } from '../../store/connect.ts'
import { addToLedgerHistory } from '../ledger-history/history.ts'

const KEPT_DAYS = 400

// A resend may start a run again while this statement waits for the row: the condition is checked again under the lock.
const DROP = `
with old as materialized (
  select r.environment, r.id from environments e cross join lateral (
    select environment, id from report_runs where environment = e.id and finished_at < now() + e.clock_offset - make_interval(days => $1)
    order by finished_at limit $2) r limit $2
), locked as materialized (
  select r.environment, r.id from old o join report_runs r on r.environment = o.environment and r.id = o.id
  where r.status = 'finished' and r.finished_at is not null order by r.environment, r.id for update of r skip locked
), deleted as (
  delete from report_runs r using locked l where r.environment = l.environment and r.id = l.id
  returning r.environment, r.kind, r.slot, r.outcome, r.reason
), slots as (
  select * from deleted where kind = 'scheduled'
), remembered as (
  ${addToLedgerHistory({ kind: 'report_slots', from: 'slots', due: 'slot', outcome: 'outcome', reason: 'reason' })}
)
select count(*)::int as dropped from deleted`

/**
 * Deletes runs of reports 400 days after their end, by the clock of their environment; at most `batch` at once. The ledger still counts the
 * slots.
 */
export async function dropOldReportRuns(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [KEPT_DAYS, batch])
  return rows[0]!.dropped
}

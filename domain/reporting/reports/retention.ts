import type { Db } from '../../../store/connect.ts'
import { addToLedgerHistory } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'

// A resend may start a run again while this statement waits for the row: the condition is checked again under the lock.
const DROP = `
with old as materialized (
  select r.environment, r.id from environments e cross join lateral (
    select environment, id from report_runs where environment = e.id and finished_at < now() + e.clock_offset - make_interval(days => $1)
    order by finished_at limit $2) r where $3::int is null or e.id = $3 limit $2
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
 * Deletes runs of reports so many days after their end, by the clock of their environment; at most `batch` at once. The ledger still counts the
 * slots.
 */
export async function dropOldReportRuns(db: Db, batch: number, environment: Environment | null, days: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [days, batch, environment])
  return rows[0]!.dropped
}

const DELETED_DAYS = 30

const DROP_DELETED = `
with old as materialized (
  select r.environment, r.id from environments e cross join lateral (
    select environment, id from scheduled_reports s where environment = e.id and deleted_at < now() + e.clock_offset - make_interval(days => $1)
      and not exists (select 1 from report_runs r where r.environment = s.environment and r.report_id = s.id)
    order by deleted_at limit $2) r where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  select r.environment, r.id from old o join scheduled_reports r on r.environment = o.environment and r.id = o.id
  order by r.environment, r.id for update of r skip locked
)
delete from scheduled_reports r using locked l where r.environment = l.environment and r.id = l.id`

/** Removes deleted reports 30 days after their deletion, as soon as none of their runs is left; at most `batch` at once. */
export async function dropDeletedReports(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const { rowCount } = await db.query(DROP_DELETED, [DELETED_DAYS, batch, environment])
  return rowCount ?? 0
}

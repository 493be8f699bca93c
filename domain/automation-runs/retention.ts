import type { Db } from '../../store/connect.ts'
import { addToLedgerHistory } from '../ledger-history/history.ts'
import { automationsWithRuns } from './run.ts'

const KEPT_DAYS = 90

// now() and not clock_timestamp(): only a stable time can be an index condition. The scan goes by creation, which is indexed by automation:
// a run that ended late is skipped until its time has come. The condition is checked again on the locked row.
const DROP = `
with old as materialized (
  select r.number from environments e cross join lateral (${automationsWithRuns('e.id')}) a cross join lateral (
    select number from automation_runs
    where environment = e.id and automation_id = a.automation_id and created_at < now() + e.clock_offset - make_interval(days => $1)
      and finished_at < now() + e.clock_offset - make_interval(days => $1)
    order by created_at limit $2) r limit $2
), locked as materialized (
  select r.number from automation_runs r where r.number = any (array(select number from old)) and r.finished_at is not null
  order by r.number for update skip locked
), gone as (
  delete from automation_runs r using locked l where r.number = l.number
  returning r.number, r.environment, r.automation_id, r.user_id, r.replay_of, r.status, r.reason, r.created_at
), steps as (
  delete from automation_steps where run = any (array(select number from gone))
), forgotten as (
  insert into forgotten_runs (environment, automation_id, user_id, started)
  select g.environment, g.automation_id, g.user_id, count(*) from gone g
    join automations a on a.environment = g.environment and a.id = g.automation_id
  where g.user_id is not null and g.status <> 'skipped' and g.replay_of is null group by 1, 2, 3 order by 1, 2, 3
  on conflict (environment, automation_id, user_id) do update set started = forgotten_runs.started + excluded.started
), remembered as (
  ${addToLedgerHistory({ kind: 'automation_runs', from: 'gone', due: 'created_at', outcome: 'status', reason: 'reason' })}
)
select count(*)::int as dropped from gone`

/**
 * Removes runs, with their steps, 90 days after their end by the clock of their environment; at most `batch` at once. The runs still
 * count: in the ledger, and, if they had started, against `frequency`.
 */
export async function dropOldAutomationRuns(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [KEPT_DAYS, batch])
  return rows[0]!.dropped
}

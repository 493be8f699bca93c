import type { Db } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { addToLedgerHistory } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { forgetRetrying } from './retrying.ts'
import { automationsWithRuns, forgetUnsuccessful } from './run.ts'

// now() and not clock_timestamp(): only a stable time can be an index condition. The scan goes by creation, which is indexed by automation:
// a run that ended late is skipped until its time has come. The condition is checked again on the locked row.
const DROP = `
with old as materialized (
  select r.number from environments e cross join lateral (${automationsWithRuns('e.id')}) a cross join lateral (
    select number from automation_runs
    where environment = e.id and automation_id = a.automation_id and created_at < now() + e.clock_offset - make_interval(days => $1)
      and finished_at < now() + e.clock_offset - make_interval(days => $1)
    order by created_at limit $2) r where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  ${lockInOrder({
    table: 'automation_runs',
    key: 'number',
    keys: 'array(select number from old)',
    where: 'finished_at is not null',
    strength: 'update skip locked',
  })}
), gone as (
  delete from automation_runs r using locked l where r.number = l.number
  returning r.number, r.id, r.environment, r.automation_id, r.user_id, r.replay_of, r.status, r.reason, r.created_at
), steps as (
  delete from automation_steps where run = any (array(select number from gone))
), unlisted as (
  ${forgetUnsuccessful('gone')}
), no_longer_retried as (
  ${forgetRetrying('select number from gone')}
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
 * Removes runs, with their steps, so many days after their end by the clock of their environment; at most `batch` at once. The runs still
 * count: in the ledger, and, if they had started, against `frequency`.
 */
export async function dropOldAutomationRuns(db: Db, batch: number, environment: Environment | null, days: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [days, batch, environment])
  return rows[0]!.dropped
}

const VERSION_DAYS = 90

// A version that a run is pinned to has that run in the list of its automation, with a creation before the version was superseded; a
// transaction that read the former version may create its run a little later. The oldest run decides: that is one look in the index, and a
// version stays a little longer than it must. The condition is checked again on the locked row: a replay pins an old version once more.
const DROP_VERSIONS = `
with old as materialized (
  select v.environment, v.automation_id, v.version from environments e cross join lateral (
    select environment, automation_id, version from automation_versions v
    where environment = e.id and superseded_at < now() + e.clock_offset - make_interval(days => $1)
      and not exists (select 1 from automation_runs r
        where r.environment = v.environment and r.automation_id = v.automation_id and r.created_at <= v.superseded_at + interval '1 hour')
    order by superseded_at limit $2) v where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  select v.environment, v.automation_id, v.version from old o join automation_versions v using (environment, automation_id, version)
    join environments e on e.id = v.environment
  where v.superseded_at < now() + e.clock_offset - make_interval(days => $1)
  order by v.environment, v.automation_id, v.version for update of v skip locked
)
delete from automation_versions v using locked l
where v.environment = l.environment and v.automation_id = l.automation_id and v.version = l.version`

/**
 * Removes versions that were superseded, or whose automation was deleted, 90 days ago by the clock of their environment, and that no run is
 * pinned to; at most `batch` at once.
 */
export async function dropOldVersions(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const { rowCount } = await db.query(DROP_VERSIONS, [VERSION_DAYS, batch, environment])
  return rowCount ?? 0
}

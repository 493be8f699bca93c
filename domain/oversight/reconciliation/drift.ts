import type { Db } from '../../../store/connect.ts'
import { type FoldingState, readFoldingState } from '../../analytics/folding/folding-state.ts'
import { type Floors, floorValues, NO_FLOORS } from '../../durable/jobs/floors.ts'
import { CLOCK_OF_GROUP, groupsAbove, OF_GROUP } from '../../durable/jobs/groups.ts'
import { OVERDUE_SECONDS } from '../../durable/jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { KNOWN_KINDS } from '../../durable/jobs/workers.ts'
import { HELD_SECONDS, type HeldFigures, readHeldFigures } from '../../integrations/deliveries/held.ts'
import { readStoreFigures, type StoreFigures } from '../../purchases/store-inbox/figures.ts'
import { countFailedRuns } from '../../reporting/reports/failed-runs.ts'
import { type Broken, countBroken } from './broken.ts'

/**
 * Jobs of one kind. `overdue`: due for more than a minute and not leased. `abandoned`: the lease has expired and no worker has claimed the
 * job. `unknown`: due, and no live worker executes the kind; such jobs wait for a worker that does.
 */
export type Late = { kind: string; overdue: number; oldest_seconds: number; abandoned: number; unknown: number }
/** How far a consumer of the log is behind: the unread events, and how long the oldest of them has waited. */
export type Lag = { consumer: string; events: number; seconds: number }
export type SetAside = { consumer: string; events: number }
/** Exports whose file, or an erased user's rows in it, the storage has failed to remove, and since when. */
type Unremoved = { files: number; seconds: number }
/** `orphans`: the orphans of the watchdog's last scan that are not repaired. `repaired`: all repaired orphans so far. */
export type Drift = {
  late: Late[]
  held: HeldFigures
  lag: Lag[]
  setAside: SetAside[]
  unremoved: Unremoved
  failedReportRuns: number
  broken: Broken
  facts: FoldingState
  stores: StoreFigures
  orphans: number
  repaired: number
}

/** The most jobs of one group that are counted. To count more would take time while the database is busiest. */
const MOST_COUNTED = 10_000
/** Two periods of the sweep: within that time another worker would have claimed the job. */
const ABANDONED_SECONDS = 2

// Whether a paused automation holds the job: such a run is not late, also before a worker has put it off. Most groups have no paused
// automation, and no run is looked up for them.
const HAS_PAUSED = `g.kind = '${AUTOMATION_RUN_DUE}' and exists (
  select 1 from automations where environment = g.environment and status = 'paused')`
const IS_HELD = `case when p.has_paused then exists (
  select 1 from automation_runs r join automations a on a.environment = r.environment and a.id = r.automation_id
  where r.number = due.id and a.status = 'paused') else false end`

// A job that is put off, or that waits for a later time, has a later due time: it is not read.
const LATE = `
with recursive ${groupsAbove(1)}, executed as materialized (${KNOWN_KINDS})
select g.kind, sum(d.overdue)::int as overdue, coalesce(max(d.oldest_seconds), 0)::float8 as oldest_seconds, sum(d.abandoned)::int as abandoned,
  coalesce(sum(d.free) filter (where k.is_unknown), 0)::int as unknown
from groups g ${CLOCK_OF_GROUP} cross join lateral (select ${HAS_PAUSED} as has_paused) p cross join lateral (
  select count(*) filter (where is_free and waited > ${OVERDUE_SECONDS}) as overdue, max(waited) filter (where is_free and waited > ${OVERDUE_SECONDS}) as oldest_seconds,
    count(*) filter (where lease_until < clock_timestamp() - interval '${ABANDONED_SECONDS} seconds' and batched_until is null) as abandoned,
    count(*) filter (where is_free) as free
  from (
    select lease_until, batched_until,
      (lease_until is null or lease_until < clock_timestamp() or batched_until > clock_timestamp()) and not ${IS_HELD} as is_free,
      extract(epoch from clock_timestamp() + e.clock_offset - due_at) as waited
    from due where ${OF_GROUP} and due_at >= g.low and due_at <= statement_timestamp() + e.clock_offset
    order by due_at limit ${MOST_COUNTED}) w) d
  cross join lateral (select exists (select from executed) and g.kind not in (select kind from executed) as is_unknown) k
group by g.kind having sum(d.overdue) > 0 or sum(d.abandoned) > 0 or sum(d.free) filter (where k.is_unknown) > 0 order by g.kind`

// An environment without a mark has no unread events. The offsets of erased events have no rows. A consumer that has only such offsets before
// it lags by 0 seconds.
const LAG = `
select c.consumer, sum(l.next_offset - c.next_offset)::bigint as events,
  coalesce(max(extract(epoch from clock_timestamp() + e.clock_offset - o.received_at)), 0)::float8 as seconds
from (select distinct environment from unread_logs) u
  join environments e on e.id = u.environment
  join log_consumers c on c.environment = e.id
  join log_positions l on l.environment = c.environment and l.partition = c.partition and l.next_offset > c.next_offset
  left join lateral (select received_at from events
    where environment = c.environment and partition = c.partition and log_offset >= c.next_offset order by log_offset limit 1) o on true
group by c.consumer order by c.consumer`

/** Everything that is late or was set aside, over all environments. None of it is an error of the request that reads it. */
export async function readDrift(db: Db, floors: Floors = NO_FLOORS): Promise<Drift> {
  const late = await db.query<Late>({ name: 'late-jobs', text: LATE, values: floorValues(floors) })
  const held = await readHeldFigures(db)
  const lag = await db.query<Lag>({ name: 'lagging-consumers', text: LAG })
  const setAside = await db.query<SetAside>({
    name: 'count-set-aside',
    text: 'select consumer, count(*)::int as events from set_aside_events where replayed_at is null group by consumer order by consumer',
  })
  const unremoved = await db.query<Unremoved>({
    name: 'count-unremoved',
    text: `select count(*)::int as files, coalesce(extract(epoch from clock_timestamp() - min(overdue_since)), 0)::float8 as seconds
           from exports where overdue_since is not null`,
  })
  const failedReportRuns = await countFailedRuns(db)
  const broken = await countBroken(db)
  const facts = await readFoldingState(db)
  const stores = await readStoreFigures(db)
  const watchdog = await db.query<{ orphans: number; repaired: number }>('select orphans, repaired from watchdog')
  const { orphans, repaired } = watchdog.rows[0] ?? { orphans: 0, repaired: 0 }
  return {
    late: late.rows,
    held,
    lag: lag.rows,
    setAside: setAside.rows,
    unremoved: unremoved.rows[0]!,
    failedReportRuns,
    broken,
    facts,
    stores,
    orphans,
    repaired,
  }
}

/**
 * Whether an operator should act: a job, an event or a marked user waits for more than a minute, deliveries are held by an error for more
 * than a quarter of an hour, an event or a user was set aside, a file could not be removed, a report failed, orphans were found, stored
 * facts differed from a new fold, or reports of stores do not arrive or are not processed.
 */
export const isDegraded = ({ late, held, lag, setAside, unremoved, failedReportRuns, facts, stores, orphans }: Drift): boolean =>
  late.some(({ overdue, abandoned }) => overdue + abandoned > 0) ||
  held.seconds > HELD_SECONDS ||
  lag.some(({ seconds }) => seconds > OVERDUE_SECONDS) ||
  setAside.length > 0 ||
  unremoved.files > 0 ||
  failedReportRuns > 0 ||
  facts.oldest_seconds > OVERDUE_SECONDS ||
  facts.set_aside > 0 ||
  facts.drifted > 0 ||
  orphans > 0 ||
  stores.pending.some(({ late_seconds }) => late_seconds > OVERDUE_SECONDS) ||
  stores.setAside.length > 0 ||
  stores.unacknowledged > 0 ||
  stores.alerts.length > 0

/** Stores the result of the watchdog's scan, for every process that reports readiness and metrics. */
export const recordWatch = (db: Db, { orphans, repaired }: { orphans: number; repaired: number }): Promise<unknown> =>
  db.query(
    `insert into watchdog (looked_at, orphans, repaired) values (clock_timestamp(), $1, $2)
     on conflict (one) do update set looked_at = excluded.looked_at, orphans = excluded.orphans, repaired = watchdog.repaired + excluded.repaired`,
    [orphans, repaired],
  )

/** Tries to take the watchdog's lock, which lasts as long as this connection: at most `silentMs` after its last statement. */
export async function tryWatch(db: Db, lock: number, silentMs: number): Promise<boolean> {
  const { rows } = await db.query<{ locked: boolean }>('select pg_try_advisory_lock($1, 0) as locked', [lock])
  const { locked } = rows[0]!
  if (locked) await db.query(`select set_config('idle_session_timeout', $1, false)`, [String(Math.ceil(silentMs))])
  return locked
}

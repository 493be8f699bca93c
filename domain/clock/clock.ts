import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { announceJobs } from '../jobs/job.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from '../jobs/sweep.ts'

/** The sandbox's clock. `outstanding`: promises due by now that are neither final nor waiting for later, and events not read yet. */
export type TestClock = { now: string; offset_seconds: number; outstanding: number }

/** Events that a consumer of the log has not read yet. */
const LAG = `(select coalesce(sum(l.next_offset - c.next_offset), 0)::bigint
  from log_consumers c join log_positions l on l.environment = c.environment and l.partition = c.partition where c.environment = $1)`

export async function readClock(db: Db, environment: Environment): Promise<TestClock> {
  const { rows } = await db.query<TestClock>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}
     select n.now, floor(extract(epoch from e.clock_offset))::bigint as offset_seconds,
       (select coalesce(sum(d.count), 0)::bigint from groups g cross join lateral (
         select count(*) from due where ${OF_GROUP} and due_at <= n.now) d) + ${LAG} as outstanding
     from environments e cross join environment_now($1) n(now) where e.id = $1`,
    [environment],
  )
  return rows[0]!
}

/** Sets the clock forward to `to` (never back), and tells the workers that something may be due. Times with microseconds. */
export async function moveClock(db: Tx | Db, environment: Environment, to: string): Promise<void> {
  await db.query(`update environments set clock_offset = greatest(clock_offset, $2::timestamptz - clock_timestamp()) where id = $1`, [
    environment,
    to,
  ])
  await announceJobs(db, 'clock')
}

/** `own`: the first of what is due and of these kinds, by time, kind and id. `others`: something else is due, or not read yet. */
export type Pending = { own: { kind: string; id: number }[]; others: boolean }

/**
 * What is left to do at this instant. One statement and so one snapshot: what ends and leaves an event behind is seen before or after
 * that, and never as neither. A promise that a worker has in hand is due until its row moves or goes.
 */
export async function pendingNow(db: Db, environment: Environment, kinds: readonly string[]): Promise<Pending> {
  const { rows } = await db.query<Pending>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now)
     select coalesce((select jsonb_agg(jsonb_build_object('kind', kind, 'id', id)) from (
         select d.kind, d.id from groups g cross join lateral (
           select kind, id, due_at from due where ${OF_GROUP} and due_at <= (select now from n) order by due_at, id limit 100) d
         where g.kind = any ($2) order by d.due_at, array_position($2, d.kind), d.id limit 100) d), '[]') as own,
       exists (select 1 from groups g cross join lateral (
         select 1 from due where ${OF_GROUP} and due_at <= (select now from n) limit 1) d
         where g.kind <> all ($2)) or ${LAG} > 0 as others`,
    [environment, kinds],
  )
  return rows[0]!
}

/** The next instant, after now and up to `target`, at which something falls due; with microseconds. */
export async function nextDueUntil(db: Db, environment: Environment, target: string): Promise<string | null> {
  const { rows } = await db.query<{ at: string | null }>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now)
     select min(d.due_at)::text as at from groups g cross join lateral (
       select due_at from due where ${OF_GROUP} and due_at > (select now from n) and due_at <= $2 order by due_at limit 1) d`,
    [environment, target],
  )
  return rows[0]!.at
}

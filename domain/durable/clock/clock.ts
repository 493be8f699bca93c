import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { type NextTurn, nextTurn } from '../jobs/clock-turns.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from '../jobs/groups.ts'
import { announceJobs } from '../jobs/job.ts'

/**
 * The sandbox's clock. `outstanding`: jobs that are due by now, which have neither ended nor wait for a later time, and events that a
 * consumer of the log has not read. `resetting`: whether the sandbox is being emptied.
 */
export type TestClock = { now: string; offset_seconds: number; outstanding: number; resetting: boolean }

/** In SQL: how many events the consumers of the log have not read. */
const LAG = `(select coalesce(sum(l.next_offset - c.next_offset), 0)::bigint
  from log_consumers c join log_positions l on l.environment = c.environment and l.partition = c.partition where c.environment = $1)`

export async function readClock(db: Db, environment: Environment): Promise<TestClock> {
  const { rows } = await db.query<TestClock>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}
     select n.now, floor(extract(epoch from e.clock_offset))::bigint as offset_seconds,
       (select coalesce(sum(d.count), 0)::bigint from groups g cross join lateral (
         select count(*) from due where ${OF_GROUP} and due_at <= n.now) d) + ${LAG} as outstanding,
       e.reset_at is not null as resetting
     from environments e cross join environment_now($1) n(now) where e.id = $1`,
    [environment],
  )
  return rows[0]!
}

/** Allows one change of the clock at a time: the transaction has the lock until it ends. Throws `conflict`. */
export async function lockClock(tx: Tx, environment: Environment): Promise<void> {
  const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1, $2) as locked', [LOCK.advance, environment])
  if (!rows[0]!.locked) throw conflict('the clock is being advanced')
}

/** `ahead`: the time of a sandbox whose clock is ahead of real time, else null. */
export type SandboxState = { ahead: string | null; is_resetting: boolean }

export async function readSandbox(db: Db, environment: Environment): Promise<SandboxState> {
  const { rows } = await db.query<SandboxState>({
    name: 'read-sandbox',
    text: `select case when clock_offset >= interval '1 second' then clock_timestamp() + clock_offset end as ahead, reset_at is not null as is_resetting
           from environments where id = $1`,
    values: [environment],
  })
  return rows[0]!
}

/** Sets the clock forward to `to` (never back) and notifies the workers that jobs may be due. Times with microseconds. */
export async function moveClock(db: Tx | Db, environment: Environment, to: string): Promise<void> {
  await db.query(`update environments set clock_offset = greatest(clock_offset, $2::timestamptz - clock_timestamp()) where id = $1`, [
    environment,
    to,
  ])
  announceJobs(db, 'clock')
}

/**
 * The work that is left at this instant: the job whose turn is next (`nextTurn`), and how many events the consumers have not read. One
 * statement and so one snapshot: when a job ends and appends an event, either the job is seen as due or the event is seen as unread. A job
 * that a worker executes stays due until its row is rescheduled or deleted.
 */
export async function pendingNow(db: Db, environment: Environment, kinds: readonly string[]): Promise<NextTurn & { unread: number }> {
  const { more: unread, ...next } = await nextTurn<number>(db, environment, kinds, LAG)
  return { ...next, unread }
}

/** The next instant, after now and up to `target`, at which a job falls due; with microseconds. */
export async function nextDueUntil(db: Db, environment: Environment, target: string): Promise<string | null> {
  const { rows } = await db.query<{ at: string | null }>(
    `with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now)
     select min(d.due_at)::text as at from groups g cross join lateral (
       select due_at from due where ${OF_GROUP} and due_at > (select now from n) and due_at <= $2 order by due_at limit 1) d`,
    [environment, target],
  )
  return rows[0]!.at
}

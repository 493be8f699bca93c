import { setTimeout as delay } from 'node:timers/promises'
import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { drainMarks } from '../../analytics/folding/drain.ts'
import { moveClock, nextDueUntil, pendingNow } from '../../durable/clock/clock.ts'
import { beginTurns, endTurns, giveTurn, type TurnJob } from '../../durable/jobs/clock-turns.ts'
import { LEDGER_KINDS, type LedgerKind } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { invalidField, Refusal } from '../../kernel/refusal.ts'
import type { RetentionDays } from '../../kernel/retention-days.ts'
import { dropExpired } from './retention.ts'
import { TIMERS } from './timers.ts'

export type Target = { by: string } | { to: string }

/**
 * The requested instant, with microseconds. Throws `invalid_data` unless it is after now, for `by` by at least a second, and at most a year
 * ahead.
 */
export async function targetOf(tx: Tx, environment: Environment, target: Target): Promise<string> {
  const field = 'by' in target ? 'by' : 'to'
  const { rows } = await tx.query<{ target: string; early: boolean; late: boolean }>(
    `select t.target::text, t.target < n.now + interval '1 second' and $2::text is not null or t.target <= n.now as early,
       t.target > ((n.now at time zone 'UTC') + interval '1 year') at time zone 'UTC' as late
     from environment_now($1) n(now)
     cross join lateral (select coalesce($3::timestamptz, ((n.now at time zone 'UTC') + $2::interval) at time zone 'UTC') as target) t`,
    [environment, 'by' in target ? target.by : null, 'to' in target ? target.to : null],
  )
  const row = rows[0]!
  if (row.early) throw invalidField(field, field === 'by' ? 'must be at least PT1S' : 'must be later than now')
  if (row.late) throw invalidField(field, 'must be at most one year ahead')
  return row.target
}

type AdvanceOptions = {
  pool: Pool
  /** Keeps the transaction that has the lock alive. */
  beat: () => Promise<unknown>
  limitMs?: number
  days?: RetentionDays
}

/** Real time for one advance. The next advance continues with what is left. */
const LIMIT_MS = 60_000
/** The pauses between two checks of the job that a worker executes: most jobs take some milliseconds. */
const POLLS_MS = [2, 2, 4, 8]
const POLL_MS = 20
/** Interval at which a turn is given again: its time is limited. */
const REPEAT_MS = 1_000
/** Marked users to fold before the next sign of life of the advance's transaction. */
const MARKS_AT_ONCE = 2_000
const TIMER_KINDS = TIMERS.map(({ kind }) => kind)

/**
 * Executes every due job, then moves the clock to each later due time up to `target` in turn and executes the jobs that are due there: one
 * job at a time, by time, kind and id. Timers are fired here. The jobs of workers are given their turns, and this function waits for each,
 * and for the consumers of the log, so that what follows from a job is known before the next one. Then everything is removed whose time is over at the target. Throws
 * `upstream_timeout` when the jobs take longer than a minute: the clock then stays at the last instant reached, and a repeated request
 * continues from there.
 */
export async function advanceClock(
  environment: Environment,
  target: string,
  { pool, beat, limitMs = LIMIT_MS, days }: AdvanceOptions,
): Promise<void> {
  const until = performance.now() + limitMs
  const drain = () => drainInstant(environment, pool, beat, until)
  const foldAll = async () => {
    while (!(await drainMarks(pool, environment, MARKS_AT_ONCE))) await beat()
  }
  try {
    // The next change of a subscription is known when what was posted is folded.
    await foldAll()
    await beginTurns(pool, environment)
    await drain()
    for (let at = await nextDueUntil(pool, environment, target); at !== null; at = await nextDueUntil(pool, environment, target)) {
      await moveClock(pool, environment, at)
      await drain()
    }
    await moveClock(pool, environment, target)
    await drain()
    await foldAll()
    // When the time is over, the housekeeping of the workers removes the rest.
    await dropExpired(pool, { days, environment, beat, isStopping: () => performance.now() > until })
  } finally {
    // A failure of the database has an error of its own, and turns end by themselves.
    await endTurns(pool, environment).catch(() => {})
  }
}

const sameJob = (one: TurnJob | null, other: TurnJob | null) => one?.kind === other?.kind && one?.id === other?.id

/** Executes the jobs that are due now, until nothing is due and the log is read. */
async function drainInstant(environment: Environment, pool: Pool, beat: () => Promise<unknown>, until: number): Promise<void> {
  let turn: TurnJob | null = null
  let givenAt = Number.NEGATIVE_INFINITY
  let polls = 0
  const give = async (job: TurnJob | null) => {
    const isNew = !sameJob(turn, job)
    if (!isNew && performance.now() - givenAt < REPEAT_MS) return
    if (isNew) polls = 0
    turn = job
    givenAt = performance.now()
    await giveTurn(pool, environment, job)
  }
  for (;;) {
    const { job, isClaimed, unread } = await pendingNow(pool, environment, TIMER_KINDS)
    if (job === null && unread === 0) return
    if (performance.now() > until)
      throw new Refusal('upstream_timeout', 'some due jobs have not ended yet: repeat the request with `to` to continue')
    const timer = TIMERS.find(({ kind }) => kind === job?.kind)
    // A job that was claimed before the advance, or whose end is not yet known, continues.
    if (unread > 0 || (isClaimed && !sameJob(job, turn))) await give(turn)
    else if (timer) {
      await give(null)
      await timer.fire(pool, job!.id)
      await beat()
      continue
    } else await give(job)
    await delay(POLLS_MS[polls++] ?? POLL_MS)
    await beat()
  }
}

type FinalCounts = Record<LedgerKind, number>

/** Counts the rows of each kind of the ledger that have reached a final state so far, including those that retention has deleted. */
export async function finalCounts(db: Db, environment: Environment): Promise<FinalCounts> {
  const { rows } = await db.query<FinalCounts>(
    `with history as (
       select kind, count from ledger_history where environment = $1 union all select kind, count from ledger_compacted where environment = $1
     ), deleted as (select kind, sum(count) as count from history group by kind)
     select
       (select count(*) from report_runs where environment = $1 and finished_at is not null and kind = 'scheduled')
         + coalesce((select count from deleted where kind = 'report_slots'), 0)::bigint as report_slots,
       (select count(*) from automation_runs where environment = $1 and finished_at is not null)
         + coalesce((select count from deleted where kind = 'automation_runs'), 0)::bigint as automation_runs,
       (select count(*) from deliveries where environment = $1 and ended_at is not null)
         + coalesce((select count from deleted where kind = 'deliveries'), 0)::bigint as deliveries,
       (select count(*) from exports where environment = $1 and status in ('done', 'failed', 'cancelled') and report_run is null)
         + coalesce((select count from deleted where kind = 'exports'), 0)::bigint as exports`,
    [environment],
  )
  return rows[0]!
}

/** The number that reached a final state between two counts; never negative, because a replay may open a finished delivery again. */
export const drainedSince = (before: FinalCounts, after: FinalCounts): FinalCounts =>
  Object.fromEntries(LEDGER_KINDS.map(kind => [kind, Math.max(0, after[kind] - before[kind])])) as FinalCounts

import { setTimeout as delay } from 'node:timers/promises'
import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Pool, Tx } from '../../store/connect.ts'
import { moveClock, nextDueUntil, pendingNow } from '../clock/clock.ts'
import type { Environment } from '../environment.ts'
import { LEDGER_KINDS, type LedgerKind } from '../ledger-history/kinds.ts'
import { conflict, invalidField, Refusal } from '../refusal.ts'
import { TIMERS } from './timers.ts'

/** Real time: what is not drained by then goes on with the next advance. */
const LIMIT_MS = 60_000
/** Between two looks at what workers have in hand. */
const LOOK_MS = 20

export type Target = { by: string } | { to: string }

/** The instant that is asked for, with microseconds. Throws `invalid_data` unless it lies ahead, by a second to a year. */
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

/** One advance at a time: held by the transaction until it ends. */
export async function lockClock(tx: Tx, environment: Environment): Promise<void> {
  const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1, $2) as locked', [LOCK.advance, environment])
  if (!rows[0]!.locked) throw conflict('the clock is being advanced')
}

export type AdvanceOptions = { pool: Pool /** Keeps whatever holds the lock alive. */; beat: () => Promise<unknown>; limitMs?: number }

const OWN = TIMERS.map(({ kind }) => kind)

/**
 * Does everything that is due, then takes the clock to each later due time up to `target` in turn and does what is due there. What
 * one transaction keeps is done here, one promise at a time; what workers do, the reading of the log included, is waited for. Throws `upstream_timeout` when that takes
 * longer than a minute: the clock then stands at the last time reached, and whoever asks again goes on from there.
 */
export async function advanceClock(
  environment: Environment,
  target: string,
  { pool, beat, limitMs = LIMIT_MS }: AdvanceOptions,
): Promise<void> {
  const until = performance.now() + limitMs
  const drain = async () => {
    for (;;) {
      const { own, others } = await pendingNow(pool, environment, OWN)
      if (own.length === 0 && !others) return
      if (performance.now() > until) throw new Refusal('upstream_timeout', 'what fell due is not done yet: repeat with `to` to go on')
      for (const { kind, id } of own) await TIMERS.find(timer => timer.kind === kind)!.fire(pool, id)
      if (own.length === 0) await delay(LOOK_MS)
      await beat()
    }
  }
  await drain()
  for (let at = await nextDueUntil(pool, environment, target); at !== null; at = await nextDueUntil(pool, environment, target)) {
    await moveClock(pool, environment, at)
    await drain()
  }
  await moveClock(pool, environment, target)
  await drain()
}

export type FinalCounts = Record<LedgerKind, number>

/** How many things of each kind of the ledger have reached a final state so far, those that are no longer kept included. */
export async function finalCounts(db: Db, environment: Environment): Promise<FinalCounts> {
  const { rows } = await db.query<FinalCounts>(
    `with gone as (select kind, sum(count) as count from ledger_history where environment = $1 group by kind)
     select
       (select count(*) from report_runs where environment = $1 and finished_at is not null and kind = 'scheduled')
         + coalesce((select count from gone where kind = 'report_slots'), 0)::bigint as report_slots,
       (select count(*) from automation_runs where environment = $1 and finished_at is not null)
         + coalesce((select count from gone where kind = 'automation_runs'), 0)::bigint as automation_runs,
       (select count(*) from deliveries where environment = $1 and ended_at is not null)
         + coalesce((select count from gone where kind = 'deliveries'), 0)::bigint as deliveries,
       (select count(*) from exports where environment = $1 and status in ('done', 'failed') and report_run is null)
         + coalesce((select count from gone where kind = 'exports'), 0)::bigint as exports`,
    [environment],
  )
  return rows[0]!
}

/** What has reached it in between. A replay that opens a finished delivery again undoes nothing that was drained. */
export const drainedSince = (before: FinalCounts, after: FinalCounts): FinalCounts =>
  Object.fromEntries(LEDGER_KINDS.map(kind => [kind, Math.max(0, after[kind] - before[kind])])) as FinalCounts

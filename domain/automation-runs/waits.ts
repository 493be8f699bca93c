import type { Tx } from '../../store/connect.ts'
import { CATALOGUE } from '../events/catalogue.ts'
import { lockFence } from '../jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import type { AutomationRun, TimelineStep } from './load.ts'

/** An event type as steps name it (uid or slug) -> the name that events have. */
const nameOf = (event: string): string => CATALOGUE.find(({ uid }) => uid === event)?.slug ?? event

type Found = { id: string; log_offset: number }
/** What a wait came to; null: it goes on. */
export type Awaited = { outcome: 'event'; event_id: string } | { outcome: 'timeout'; event_id: null } | null
export type Wait = { event: string; deadline: string }

/**
 * Holds the consumer's place in the run's partition until the transaction ends and returns it: what stands before it, the consumer
 * has passed without knowing of this wait; what stands from there on, it will hold against it. Locked before everything that a
 * consumer locks after it.
 */
async function lockPosition(tx: Tx, { environment, partition }: AutomationRun): Promise<number> {
  const { rows } = await tx.query<{ next_offset: number }>({
    name: 'hold-automations-place',
    text: `select next_offset from log_consumers where consumer = 'automations' and environment = $1 and partition = $2 for share`,
    values: [environment, partition],
  })
  if (!rows[0]) throw new Error(`nobody reads the log of environment ${environment} for automations`)
  return rows[0].next_offset
}

/** The end of the partition once the transactions in flight there have ended. */
async function lockLogEnd(tx: Tx, { environment, partition }: AutomationRun): Promise<number> {
  const { rows } = await tx.query<{ next_offset: number }>({
    name: 'hold-log-end',
    text: 'select next_offset from log_positions where environment = $1 and partition = $2 for share',
    values: [environment, partition],
  })
  return rows[0]!.next_offset
}

/** Locks the run's job, before the run's own row and its wait, as every statement locks them. Throws `LeaseLost`. */
const lockRunJob = (tx: Tx, { number, fence }: AutomationRun): Promise<unknown> =>
  lockFence(tx, { kind: AUTOMATION_RUN_DUE, id: number, fence })

type Range = { after: number; before: number; since: string | null }

async function findFirst(tx: Tx, run: AutomationRun, { event, deadline }: Wait, { after, before, since }: Range): Promise<Found | null> {
  if (run.user_id === null || after + 1 >= before) return null
  const { rows } = await tx.query<Found>({
    name: 'find-awaited-event',
    text: `select id, log_offset from events
           where environment = $1 and user_id = $2 and name = $3 and triggers and partition = $4 and log_offset > $5 and log_offset < $6
             and received_at >= coalesce($7::timestamptz, '-infinity') and received_at < $8
           order by log_offset limit 1`,
    values: [run.environment, run.user_id, nameOf(event), run.partition, after, before, since, deadline],
  })
  return rows[0] ?? null
}

/** The offset after which the run looks, by the last event that it met, and the time from which on, by the last wait that time ended. */
async function placeOf(tx: Tx, run: AutomationRun, timeline: readonly TimelineStep[]): Promise<{ after: number; since: string | null }> {
  const { event, since } = positionAfter(timeline)
  if (event === null || run.user_id === null) return { after: run.log_offset, since }
  const { rows } = await tx.query<{ log_offset: number }>({
    name: 'place-of-event',
    text: 'select log_offset from events where environment = $1 and user_id = $2 and id = $3',
    values: [run.environment, run.user_id, event],
  })
  return { after: rows[0]?.log_offset ?? run.log_offset, since }
}

async function meet(tx: Tx, run: AutomationRun, { id, log_offset }: Found): Promise<Awaited> {
  await tx.query('update automation_runs set position = $3 where environment = $1 and number = $2', [
    run.environment,
    run.number,
    log_offset,
  ])
  return { outcome: 'event', event_id: id }
}

/**
 * Begins a wait: an event that is in the log by now ends it at once; otherwise the consumer is told of it, in the same transaction
 * that lets the run rest. The place is held meanwhile, so no event can come between the look and the note.
 */
export async function beginWait(tx: Tx, run: AutomationRun, timeline: readonly TimelineStep[], wait: Wait): Promise<Awaited> {
  const place = await lockPosition(tx, run)
  await lockRunJob(tx, run)
  const { after, since } = await placeOf(tx, run, timeline)
  const found = await findFirst(tx, run, wait, { after, before: place, since })
  if (found) return meet(tx, run, found)
  if (run.user_id !== null) {
    await tx.query(
      `insert into event_waits (run, environment, user_id, event_name, after_offset, since, deadline) values ($1, $2, $3, $4, $5, $6, $7)`,
      [run.number, run.environment, run.user_id, nameOf(wait.event), Math.max(after, place - 1), since, wait.deadline],
    )
  }
  return null
}

type Noted = { event_id: string | null; event_offset: number | null; after_offset: number; since: string | null }

/**
 * Looks at a wait that has begun: the consumer may have met its event, or its deadline may have passed. Then the log is searched once
 * more to its end, transactions in flight awaited: an event received before the deadline wins, however late consumer and worker are.
 */
export async function lookAtWait(tx: Tx, run: AutomationRun, wait: Wait): Promise<Awaited> {
  await lockPosition(tx, run)
  const over = await tx.query('select 1 where environment_now($1) >= $2::timestamptz', [run.environment, wait.deadline])
  const before = over.rowCount === 0 ? 0 : await lockLogEnd(tx, run)
  await lockRunJob(tx, run)
  const { rows } = await tx.query<Noted>(
    'select event_id, event_offset, after_offset, since::text as since from event_waits where run = $1 and environment = $2',
    [run.number, run.environment],
  )
  const noted = rows[0]
  if (noted?.event_id) return endWait(tx, run, { id: noted.event_id, log_offset: noted.event_offset! })
  if (over.rowCount === 0) return null
  return endWait(tx, run, noted ? await findFirst(tx, run, wait, { after: noted.after_offset, before, since: noted.since }) : null)
}

async function endWait(tx: Tx, run: AutomationRun, found: Found | null): Promise<Awaited> {
  const awaited: Awaited = found ? await meet(tx, run, found) : { outcome: 'timeout', event_id: null }
  await tx.query('delete from event_waits where run = $1 and environment = $2', [run.number, run.environment])
  return awaited
}

/** Where a run stands in its partition of the log: what it waits for comes after `event`'s place and not before `since`. */
export type Position = {
  /** Id of the event that ended its last wait; null: the triggering event. */
  event: string | null
  /** Deadline of the last wait that ended by time; null: none has. */
  since: string | null
}

const TIMED = new Set(['delay', 'wait_until', 'wait_for_event'])

/**
 * The run's position by its timeline, which is the one place that knows it (a replay takes over a part of it). `received_at` never
 * falls within a partition, so "the first position with received_at >= deadline" is the same as asking for that time.
 */
export function positionAfter(timeline: readonly Pick<TimelineStep, 'type' | 'status' | 'due_at' | 'result'>[]): Position {
  const position: Position = { event: null, since: null }
  for (const { type, status, due_at, result } of timeline) {
    if (status !== 'succeeded' || !TIMED.has(type)) continue
    const event = result?.event_id
    if (typeof event === 'string') position.event = event
    else position.since = due_at
  }
  return position
}

import type { Tx } from '../../../store/connect.ts'
import { lockFence } from '../../durable/jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { CATALOGUE } from '../../events/catalogue.ts'
import type { AutomationRun, TimelineStep } from './load.ts'

/** The name that events have, for an event type as steps name it (uid or slug). */
const nameOf = (event: string): string => CATALOGUE.find(({ uid }) => uid === event)?.slug ?? event
const namesOf = ({ events }: Wait): string[] => [...new Set(events.map(nameOf))]

type Found = { id: string; name: string; log_offset: number }
/** How a wait ended; null: it has not ended. */
export type Awaited = { outcome: 'event'; event_id: string; event_name: string } | { outcome: 'timeout'; event_id: null } | null
/** `events`: the types of which any one ends the wait. */
export type Wait = { events: readonly string[]; deadline: string }

/**
 * Locks the consumer's position in the run's partition until the transaction ends and returns its offset: the consumer has read the events
 * before it without knowing of this wait, and compares those from there on with it. Locked before the rows that a consumer locks after
 * its position.
 */
async function lockPosition(tx: Tx, { environment, partition }: AutomationRun): Promise<number> {
  const { rows } = await tx.query<{ next_offset: number }>({
    name: 'lock-automations-position',
    text: `select next_offset from log_consumers where consumer = 'automations' and environment = $1 and partition = $2 for share`,
    values: [environment, partition],
  })
  if (!rows[0]) throw new Error(`no consumer reads the log of environment ${environment} for automations`)
  return rows[0].next_offset
}

/** The end of the partition once the transactions in flight there have ended. */
async function lockLogEnd(tx: Tx, { environment, partition }: AutomationRun): Promise<number> {
  const { rows } = await tx.query<{ next_offset: number }>({
    name: 'lock-log-end',
    text: 'select next_offset from log_positions where environment = $1 and partition = $2 for share',
    values: [environment, partition],
  })
  return rows[0]!.next_offset
}

/** Locks the run's job, before the run's own row and its wait, as every statement locks them. Throws `LeaseLost`. */
const lockRunJob = (tx: Tx, { number, fence }: AutomationRun): Promise<unknown> =>
  lockFence(tx, { kind: AUTOMATION_RUN_DUE, id: number, fence })

type Range = { after: number; before: number; since: string | null }

async function findFirst(tx: Tx, run: AutomationRun, wait: Wait, { after, before, since }: Range): Promise<Found | null> {
  if (run.user_id === null || after + 1 >= before) return null
  const { rows } = await tx.query<Found>({
    name: 'find-awaited-event',
    text: `select id, name, log_offset from events
           where environment = $1 and user_id = $2 and name = any ($3::text[]) and triggers and partition = $4 and log_offset > $5 and log_offset < $6
             and received_at >= coalesce($7::timestamptz, '-infinity') and received_at < $8
           order by log_offset limit 1`,
    values: [run.environment, run.user_id, namesOf(wait), run.partition, after, before, since, wait.deadline],
  })
  return rows[0] ?? null
}

/** Where the run's search begins: after the offset of the last event that ended a wait, and at the deadline of the last wait that ended by time. */
async function searchStart(
  tx: Tx,
  run: AutomationRun,
  timeline: readonly TimelineStep[],
): Promise<{ after: number; since: string | null }> {
  const { event, since } = positionAfter(timeline)
  if (event === null || run.user_id === null) return { after: run.log_offset, since }
  const { rows } = await tx.query<{ log_offset: number }>({
    name: 'offset-of-event',
    text: 'select log_offset from events where environment = $1 and user_id = $2 and id = $3',
    values: [run.environment, run.user_id, event],
  })
  return { after: rows[0]?.log_offset ?? run.log_offset, since }
}

async function recordFound(tx: Tx, run: AutomationRun, { id, name, log_offset }: Found): Promise<Awaited> {
  await tx.query('update automation_runs set position = $3 where environment = $1 and number = $2', [
    run.environment,
    run.number,
    log_offset,
  ])
  return { outcome: 'event', event_id: id, event_name: name }
}

/**
 * Begins a wait: an event that is in the log by now ends it at once; otherwise the wait is stored for the consumer, in the transaction that
 * suspends the run. The consumer's position is locked meanwhile, so it can read no event between the search and the insert.
 */
export async function beginWait(tx: Tx, run: AutomationRun, timeline: readonly TimelineStep[], wait: Wait): Promise<Awaited> {
  const position = await lockPosition(tx, run)
  await lockRunJob(tx, run)
  const { after, since } = await searchStart(tx, run, timeline)
  const found = await findFirst(tx, run, wait, { after, before: position, since })
  if (found) return recordFound(tx, run, found)
  if (run.user_id !== null) {
    await tx.query(
      `insert into event_waits (run, environment, user_id, event_name, after_offset, since, deadline)
       select $1, $2, $3, name, $5, $6, $7 from unnest($4::text[]) name`,
      [run.number, run.environment, run.user_id, namesOf(wait), Math.max(after, position - 1), since, wait.deadline],
    )
  }
  return null
}

type StoredWait = { event_id: string | null; event_name: string; event_offset: number | null; after_offset: number; since: string | null }

/**
 * Checks a wait that has begun: the consumer may have found its event, or its deadline may have passed. After the deadline the log is
 * searched again to its end, once the transactions in flight have ended: an event received before the deadline wins, however late consumer
 * and worker are.
 */
export async function checkWait(tx: Tx, run: AutomationRun, wait: Wait): Promise<Awaited> {
  await lockPosition(tx, run)
  const overdue = await tx.query('select 1 where environment_now($1) >= $2::timestamptz', [run.environment, wait.deadline])
  const before = overdue.rowCount === 0 ? 0 : await lockLogEnd(tx, run)
  await lockRunJob(tx, run)
  const { rows } = await tx.query<StoredWait>(
    // The consumer may have found events of several types: the first one in the log ends the wait.
    `select event_id, event_name, event_offset, after_offset, since::text as since from event_waits where run = $1 and environment = $2
     order by event_offset nulls last limit 1`,
    [run.number, run.environment],
  )
  const stored = rows[0]
  if (stored?.event_id) return endWait(tx, run, { id: stored.event_id, name: stored.event_name, log_offset: stored.event_offset! })
  if (overdue.rowCount === 0) return null
  return endWait(tx, run, stored ? await findFirst(tx, run, wait, { after: stored.after_offset, before, since: stored.since }) : null)
}

async function endWait(tx: Tx, run: AutomationRun, found: Found | null): Promise<Awaited> {
  const awaited: Awaited = found ? await recordFound(tx, run, found) : { outcome: 'timeout', event_id: null }
  await tx.query('delete from event_waits where run = $1 and environment = $2', [run.number, run.environment])
  return awaited
}

/** A run's position in its partition of the log: it waits for an event after `event` in the log, and not received before `since`. */
type WaitPosition = {
  /** Id of the event that ended its last wait; null: the triggering event. */
  event: string | null
  /** Deadline of the last wait that ended by time; null: none has. */
  since: string | null
}

const TIMED = new Set(['delay', 'wait_until', 'wait_for_event'])

/**
 * The run's position follows from its timeline alone (a replay takes over a part of the timeline). `received_at` never decreases within a
 * partition, so a condition on the time says the same as "the first offset with received_at >= deadline".
 */
function positionAfter(timeline: readonly Pick<TimelineStep, 'type' | 'status' | 'due_at' | 'result'>[]): WaitPosition {
  const position: WaitPosition = { event: null, since: null }
  for (const { type, status, due_at, result } of timeline) {
    if (status !== 'succeeded' || !TIMED.has(type)) continue
    const event = result?.event_id
    if (typeof event === 'string') position.event = event
    else position.since = due_at
  }
  return position
}

import type { TimelineStep } from './load.ts'

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

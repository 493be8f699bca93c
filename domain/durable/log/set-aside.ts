import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { classifyFailure } from '../../../store/failures.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Consumer } from './consume.ts'
import type { LogEvent } from './consumer.ts'
import { lockPosition, movePositions, type Position, readLog } from './read.ts'

const KEPT_DAYS = 400

/** Removes events that were set aside, once they are replayed or 400 days old (real time, as `set_aside_at` is); at most `batch` at once. */
export async function dropSetAside(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(
    `with locked as materialized (
       select consumer, environment, partition, log_offset from set_aside_events
       where replayed_at is not null or set_aside_at < now() - make_interval(days => $1)
       order by consumer, environment, partition, log_offset limit $2 for update skip locked
     ), gone as (
       delete from set_aside_events s using locked l
       where s.consumer = l.consumer and s.environment = l.environment and s.partition = l.partition and s.log_offset = l.log_offset returning 1
     )
     select count(*)::int as dropped from gone`,
    [KEPT_DAYS, batch],
  )
  return rows[0]!.dropped
}

/** The consumer's positions at which there are unread events, locked or not. */
export async function laggingPositions(db: Db, { name }: Consumer, environment: Environment): Promise<Position[]> {
  const { rows } = await db.query<Position>(
    `select c.partition, c.next_offset from log_consumers c join log_positions l on l.environment = c.environment and l.partition = c.partition
     where c.consumer = $1 and c.environment = $2 and c.next_offset < l.next_offset order by c.partition`,
    [name, environment],
  )
  return rows
}

/** An error in words, as it is stored with the event. */
export const failureOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 1000)

/** `setAside`: the error, if the event could not be handled. Null: there is nothing to read now. */
export type Handled = { event: LogEvent; setAside: string | null } | null

/** Whether the failure of an event that was handled alone is the fault of the database or the network, and not of the event. */
export type IsPassing = (error: unknown, event: LogEvent) => boolean

/** Time-outs of one event, handled alone. At the last one the event is set aside: it would take too long at every attempt. */
const TIMEOUTS = 3
/** How many counts are kept in memory. Far fewer events run into time-outs and are handled after all. */
const COUNTED = 1_000

/** Failures that pass: the database is away, or it chose the transaction as the victim of a deadlock; and the first time-outs. */
export function passingFailures(): IsPassing {
  const timeouts = new Map<string, number>()
  return (error, { id }) => {
    const failure = classifyFailure(error)
    if (failure !== 'timeout') return failure !== 'other'
    const count = (timeouts.get(id) ?? 0) + 1
    timeouts.delete(id)
    if (count === TIMEOUTS) return false
    if (timeouts.size === COUNTED) timeouts.clear()
    timeouts.set(id, count)
    return true
  }
}

/**
 * Handles the next event of one partition alone. When that fails, the event is set aside with the error and the partition continues. A
 * transient error is thrown instead.
 */
export async function consumeOne(
  pool: Pool,
  { name, handle }: Consumer,
  environment: Environment,
  partition: number,
  isPassing: IsPassing,
): Promise<Handled> {
  let read: LogEvent | undefined
  const next = (work: (event: LogEvent, tx: Tx) => Promise<unknown>) =>
    transaction(pool, async tx => {
      const position = await lockPosition(tx, name, environment, partition)
      const [event] = position ? await readLog(tx, environment, [position], 1) : []
      if (!event) return null
      read = event
      await work(event, tx)
      await movePositions(tx, name, environment, [{ partition, next_offset: event.log_offset + 1 }])
      return event
    })
  try {
    const event = await next((event, tx) => handle(tx, environment, [event], null))
    return event && { event, setAside: null }
  } catch (error) {
    if (!read || isPassing(error, read)) throw error
    const poison = read
    const reason = failureOf(error)
    // Another worker may have handled the event meanwhile: it is set aside only if it still is the next one.
    const event = await next(async (event, tx) => {
      if (event.id !== poison.id) return handle(tx, environment, [event], null)
      await tx.query(
        `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error) values ($1, $2, $3, $4, $5, $6)
         on conflict (consumer, environment, partition, log_offset) do update set error = excluded.error`,
        [name, environment, partition, event.log_offset, event.id, reason],
      )
    })
    return event && { event, setAside: event.id === poison.id ? reason : null }
  }
}

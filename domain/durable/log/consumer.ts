import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** Postgres channel on which an environment's new events are announced to its consumers. A lost notification costs a second. */
export const LOG_CHANNEL = 'log'

/** The readers of the log. Each has an offset of its own in every partition. */
export type ConsumerName = 'automations' | 'integrations'

/** The columns of an event that a consumer reads; an effect that needs further columns reads them itself. Times with microseconds. */
export type LogEvent = {
  partition: number
  log_offset: number
  id: string
  name: string
  user_id: string | null
  platform: string | null
  happened_at: string
  received_at: string
  /** False: a backfill, which starts nothing. */
  triggers: boolean
  /** See `tracing.ts`; null without traces. */
  trace_context?: string | null
}

/**
 * Inserts the consumer's positions at the end of the log, unless they exist, and locks them until the transaction ends: meanwhile no batch
 * is under way. Returns the end of the log by partition: an effect that is created now and starts at this end misses no later event and
 * gets no earlier one.
 */
export async function lockConsumer(tx: Tx, consumer: ConsumerName, environment: Environment): Promise<number[]> {
  await tx.query('update environments set consumed = true where id = $1 and not consumed', [environment])
  const inserted = await tx.query(
    `insert into log_consumers (consumer, environment, partition, next_offset)
     select $1, environment, partition, next_offset from log_positions where environment = $2 order by partition on conflict do nothing`,
    [consumer, environment],
  )
  await tx.query('select 1 from log_consumers where consumer = $1 and environment = $2 order by partition for no key update', [
    consumer,
    environment,
  ])
  // A transaction that appends at this moment may have found no consumer and left no mark; a mark that it has seen may be deleted before the
  // new positions can be seen.
  if (inserted.rowCount !== 0) await tx.query('insert into unread_logs (environment) values ($1)', [environment])
  const { rows } = await tx.query<{ next_offset: number }>(
    'select next_offset from log_positions where environment = $1 order by partition',
    [environment],
  )
  return rows.map(row => row.next_offset)
}

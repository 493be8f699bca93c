import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Postgres channel on which an environment's new events are announced to its consumers; losing a notice costs a second. */
export const LOG_CHANNEL = 'log'

/** Who reads the log. Each has a position of its own in every partition. */
export type ConsumerName = 'automations' | 'integrations'

/** What a consumer sees of an event; the rest is read where an effect needs it. Times with microseconds. */
export type LogEvent = {
  partition: number
  log_offset: number
  id: string
  name: string
  user_id: string | null
  platform: string | null
  happened_at: string
  received_at: string
  /** false: a backfill that starts nothing. */
  triggers: boolean
}

/**
 * Makes the consumer's positions at the end of the log, unless they are there, and holds them until the transaction ends: no batch is
 * under way meanwhile. Returns the end of the log per partition: whatever is made now and counts from there on misses no event and
 * meets none from before.
 */
export async function lockConsumer(tx: Tx, consumer: ConsumerName, environment: Environment): Promise<number[]> {
  await tx.query('update environments set consumed = true where id = $1 and not consumed', [environment])
  await tx.query(
    `insert into log_consumers (consumer, environment, partition, next_offset)
     select $1, environment, partition, next_offset from log_positions where environment = $2 order by partition on conflict do nothing`,
    [consumer, environment],
  )
  await tx.query('select 1 from log_consumers where consumer = $1 and environment = $2 order by partition for no key update', [
    consumer,
    environment,
  ])
  const { rows } = await tx.query<{ next_offset: number }>(
    'select next_offset from log_positions where environment = $1 order by partition',
    [environment],
  )
  return rows.map(row => row.next_offset)
}

import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { ConsumerName, LogEvent } from './consumer.ts'

export type Position = { partition: number; next_offset: number }

/** `end`: of the partition, when the position was locked. */
export type LockedPosition = Position & { end: number }

/** Locks up to `most` positions at which there are unread events and that no other worker has locked. */
export async function lockPositions(tx: Tx, consumer: ConsumerName, environment: Environment, most: number): Promise<LockedPosition[]> {
  const { rows } = await tx.query<LockedPosition>({
    name: 'lock-positions',
    text: `select c.partition, c.next_offset, l.next_offset as end
           from log_consumers c cross join lateral (
             select next_offset from log_positions where environment = c.environment and partition = c.partition limit 1) l
           where c.consumer = $1 and c.environment = $2 and c.next_offset < l.next_offset
           order by c.partition limit $3 for no key update of c skip locked`,
    values: [consumer, environment, most],
  })
  return rows
}

/** Locks the consumer's position in one partition. Undefined: the consumer has none. */
export async function lockPosition(tx: Tx, consumer: string, environment: Environment, partition: number): Promise<Position | undefined> {
  const { rows } = await tx.query<Position>(
    'select partition, next_offset from log_consumers where consumer = $1 and environment = $2 and partition = $3 for no key update',
    [consumer, environment, partition],
  )
  return rows[0]
}

/** The next events at each position, up to `most` of each, in the order of the log. */
export async function readLog(db: Db, environment: Environment, positions: readonly Position[], most: number): Promise<LogEvent[]> {
  const { rows } = await db.query<LogEvent>({
    name: 'read-log',
    text: `select e.* from unnest($2::smallint[], $3::bigint[]) w(partition, next_offset) cross join lateral (
             select partition, log_offset, id, name, user_id, platform, happened_at::text, received_at::text, triggers, trace_context from events
             where environment = $1 and partition = w.partition and log_offset >= w.next_offset order by log_offset limit $4) e
           order by e.partition, e.log_offset`,
    values: [environment, positions.map(({ partition }) => partition), positions.map(({ next_offset }) => next_offset), most],
  })
  return rows
}

/** Moves the consumer's position after the events that it has read, in the transaction of the effects. */
export async function movePositions(
  tx: Tx,
  consumer: ConsumerName,
  environment: Environment,
  positions: readonly Position[],
): Promise<void> {
  await tx.query({
    name: 'move-positions',
    text: `update log_consumers c set next_offset = w.next_offset from unnest($3::smallint[], $4::bigint[]) w(partition, next_offset)
           where c.consumer = $1 and c.environment = $2 and c.partition = w.partition`,
    values: [consumer, environment, positions.map(({ partition }) => partition), positions.map(({ next_offset }) => next_offset)],
  })
}

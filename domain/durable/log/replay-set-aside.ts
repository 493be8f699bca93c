import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import type { Consumer } from './consume.ts'
import { lockPosition, readLog } from './read.ts'
import { failureOf } from './set-aside.ts'

/** An event that a consumer could not handle. */
export type SetAsideEvent = {
  consumer: string
  environment: Environment
  partition: number
  log_offset: number
  event_id: string
  error: string
  set_aside_at: string
  replayed_at: string | null
  project: number
  environment_kind: EnvironmentKind
}

/** Of all projects, in the order of the log. `ids`: these events only; `all`: replayed events, too. */
export async function listSetAside(db: Db, { ids, all = false }: { ids?: string[]; all?: boolean } = {}): Promise<SetAsideEvent[]> {
  const { rows } = await db.query<SetAsideEvent>(
    `select s.consumer, s.environment, s.partition, s.log_offset, s.event_id, s.error, s.set_aside_at, s.replayed_at, e.project,
       e.kind as environment_kind
     from set_aside_events s join environments e on e.id = s.environment
     where ($1 or s.replayed_at is null) and ($2::text[] is null or s.event_id = any ($2))
     order by s.consumer, s.environment, s.partition, s.log_offset`,
    [all, ids ?? null],
  )
  return rows
}

export type Replayed = { is: 'replayed' } | { is: 'gone' } | { is: 'failed'; why: string }

const KEY = 'consumer = $1 and environment = $2 and partition = $3 and log_offset = $4'

/**
 * Handles the event again and marks it as replayed, in one transaction: so two replays at the same time handle it once, and a failure changes
 * nothing but the stored error. The consumer's position is locked meanwhile, as by a batch. `record`: what the caller writes in the same
 * transaction; `user`: the user of the event.
 */
export async function replaySetAside(
  pool: Pool,
  consumers: readonly Consumer[],
  event: SetAsideEvent,
  record: (tx: Tx, user: string | null) => Promise<void>,
): Promise<Replayed> {
  const { environment, partition, log_offset } = event
  const key = [event.consumer, environment, partition, log_offset]
  const consumer = consumers.find(({ name }) => name === event.consumer)
  if (!consumer) return { is: 'failed', why: `this program knows no consumer ${event.consumer}` }
  try {
    return await transaction(pool, async tx => {
      await lockPosition(tx, event.consumer, environment, partition)
      const locked = await tx.query(`select 1 from set_aside_events where ${KEY} and replayed_at is null for update`, key)
      if (locked.rowCount === 0) return { is: 'gone' }
      const [found] = await readLog(tx, environment, [{ partition, next_offset: log_offset }], 1)
      if (found?.log_offset === log_offset) await consumer.handle(tx, environment, [found], null)
      await tx.query(`update set_aside_events set replayed_at = clock_timestamp() where ${KEY}`, key)
      await record(tx, found?.user_id ?? null)
      return { is: 'replayed' }
    })
  } catch (error) {
    const why = failureOf(error)
    await pool.query(`update set_aside_events set error = $5 where ${KEY} and replayed_at is null`, [...key, why])
    return { is: 'failed', why }
  }
}

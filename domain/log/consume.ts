import type { Pool, Tx } from '../../store/connect.ts'
import { atOnce, transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import type { InsertCapacity } from '../jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import type { ConsumerName, LogEvent } from './consumer.ts'
import { type LockedPosition, lockPositions, movePositions, type Position, readLog } from './read.ts'

/**
 * Reads the log for good: `handle` writes what events bring about, in the transaction that moves the position. `makes`: promises of this
 * kind; those for which there is `room` it may claim, and says which.
 */
export type Consumer = {
  name: ConsumerName
  jobKind: string
  handle(tx: Tx, environment: Environment, events: LogEvent[], room: InsertCapacity | null): Promise<ClaimedJob[]>
}

export type ReadLimits = { partitions: number; perPartition: number }

/** Where each place stands after these events: behind the last one read, or at the end where nothing was left (erased offsets are never read). */
function positionsAfter(places: readonly LockedPosition[], events: readonly LogEvent[], perPartition: number): Position[] {
  const read = Map.groupBy(events, event => event.partition)
  return places.map(({ partition, end }) => {
    const some = read.get(partition) ?? []
    const behind = some.length === 0 ? 0 : some.at(-1)!.log_offset + 1
    return { partition, next_offset: some.length < perPartition ? Math.max(end, behind) : behind }
  })
}

/** `partitions`: looked at; 0 = nothing to read that nobody else has in hand. `isFull`: there was more than one batch takes, perhaps. */
export type Consumed = { partitions: number; isFull: boolean; claimed: ClaimedJob[] }

/** One batch: reads, handles, moves on, in one transaction, so each event is handled exactly once. */
export const consumeBatch = (
  pool: Pool,
  { name, handle }: Consumer,
  environment: Environment,
  { partitions, perPartition }: ReadLimits,
  room: InsertCapacity | null = null,
): Promise<Consumed> =>
  transaction(pool, async tx => {
    const places = await lockPositions(tx, name, environment, partitions)
    if (places.length === 0) return { partitions: 0, isFull: false, claimed: [] }
    // In a later statement: whoever erases a user holds the places, too, and what he has erased must not be read any more.
    const events = await readLog(tx, environment, places, perPartition)
    const moved = positionsAfter(places, events, perPartition)
    const [claimed] = await atOnce(
      tx,
      async () => (events.length > 0 ? handle(tx, environment, events, room) : []),
      () => movePositions(tx, name, environment, moved),
    )
    const isLeft = places.some(({ end }, i) => moved[i]!.next_offset < end)
    return { partitions: places.length, isFull: isLeft || places.length === partitions, claimed }
  })

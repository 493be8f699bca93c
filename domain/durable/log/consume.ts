import type { Pool, Tx } from '../../../store/connect.ts'
import { batchSpan } from '../../../store/tracing.ts'
import { atOnce, transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { InsertCapacity } from '../jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import type { ConsumerName, LogEvent } from './consumer.ts'
import { type LockedPosition, lockPositions, movePositions, type Position, readLog } from './read.ts'

/**
 * Reads the log once: `handle` writes the effects of events in the transaction that moves the consumer's offsets. It inserts jobs of the kind
 * `jobKind`, may claim as many of them as there is capacity for, and returns those that it has claimed.
 */
export type Consumer = {
  name: ConsumerName
  jobKind: string
  handle(tx: Tx, environment: Environment, events: LogEvent[], capacity: InsertCapacity | null): Promise<ClaimedJob[]>
}

export type ReadLimits = { partitions: number; perPartition: number }

/** The next offset of each partition after these events: behind the last event read, or the end if no event was left (erased offsets are never read). */
function positionsAfter(positions: readonly LockedPosition[], events: readonly LogEvent[], perPartition: number): Position[] {
  const read = Map.groupBy(events, event => event.partition)
  return positions.map(({ partition, end }) => {
    const some = read.get(partition) ?? []
    const behind = some.length === 0 ? 0 : some.at(-1)!.log_offset + 1
    return { partition, next_offset: some.length < perPartition ? Math.max(end, behind) : behind }
  })
}

/** `partitions`: how many were read; 0: nothing to read, or other workers read it just now. `isFull`: there may be more than one batch takes. */
export type Consumed = { partitions: number; isFull: boolean; claimed: ClaimedJob[] }

/** Reads one batch, handles its events and moves the offsets in one transaction: so each event is handled exactly once. */
export const consumeBatch = (
  pool: Pool,
  { name, handle }: Consumer,
  environment: Environment,
  { partitions, perPartition }: ReadLimits,
  capacity: InsertCapacity | null = null,
): Promise<Consumed> =>
  transaction(pool, async tx => {
    const positions = await lockPositions(tx, name, environment, partitions)
    if (positions.length === 0) return { partitions: 0, isFull: false, claimed: [] }
    // In a later statement: an erasure locks the positions, too, and the events that it has erased must not be read any more.
    const events = await readLog(tx, environment, positions, perPartition)
    const moved = positionsAfter(positions, events, perPartition)
    const traced = (work: () => Promise<ClaimedJob[]>) => batchSpan(`consume ${name}`, () => events.map(e => e.trace_context ?? null), work)
    const [claimed] = await atOnce(
      tx,
      async () => (events.length > 0 ? traced(() => handle(tx, environment, events, capacity)) : []),
      () => movePositions(tx, name, environment, moved),
    )
    const isLeft = positions.some(({ end }, i) => moved[i]!.next_offset < end)
    return { partitions: positions.length, isFull: isLeft || positions.length === partitions, claimed }
  })

import type { Db } from '../../../store/connect.ts'
import { type Floors, floorValues, NO_FLOORS } from './floors.ts'
import { CLOCK_OF_GROUP, groupsAbove, OF_GROUP } from './groups.ts'
import { type ClaimedJob, type ClaimedRow, claimedJob } from './job.ts'
import { DISPATCH_DUE } from './sweep-statement.ts'

export { BACKLOG, BATCH_SIZE } from './sweep-statement.ts'

/** `count` due jobs, leased for the worker that takes the batch first. */
export type Batch = { number: number; count: number }

/**
 * How many jobs of a kind a sweep may claim, and the environments and destinations of which it may claim none, because their capacity is
 * nearly used.
 */
export type SpareCapacity = { most: number; fullEnvironments: number[]; fullDestinations: number[] }
/** `batchSize`: the most jobs of one batch. `perWorker`: the most jobs in outstanding batches for each live worker of the kind. */
export type DispatchLimits = { batchSize: number; perWorker: number }
/**
 * The jobs that a sweep may claim instead of dispatching them, by kind. `leaseMs`, `batchMs`: the lease of a claimed job and of a batch. A
 * kind without `limits` has batches of the usual size and the whole window.
 */
export type SweepOffer = {
  capacity: ReadonlyMap<string, SpareCapacity>
  leaseMs: number
  batchMs: number
  limits: ReadonlyMap<string, DispatchLimits>
  /** Jobs whose leases have run out stay with their executors: the database is just back, and the executors renew these leases first. */
  keepsExpired?: boolean
}
export type SweepResult = { batches: (Batch & { kind: string })[]; claimed: ClaimedJob[] }

/** The lease of a batch: the jobs of a batch that was lost are dispatched again after that. */
export const BATCH_LEASE_MS = 10_000

const NO_CAPACITY: SweepOffer = { capacity: new Map(), leaseMs: 0, batchMs: BATCH_LEASE_MS, limits: new Map() }

type Row = { is_ours: boolean } & (
  | { kind: null }
  | { kind: string; number: number; count: number }
  | ({ kind: string; number: null } & ClaimedRow)
)

/** Two columns: the kind, and each number that belongs to it. */
function perKind(capacity: SweepOffer['capacity'], numbersOf: (one: SpareCapacity) => number[]): [string[], number[]] {
  const pairs = [...capacity].flatMap(([kind, one]) => numbersOf(one).map(number => [kind, number] as const))
  return [pairs.map(([kind]) => kind), pairs.map(([, number]) => number)]
}

/**
 * Dispatches up to `window` due jobs of these kinds in batches, the most urgent batch first. No environment gets more than half of the
 * window of a kind. Where an environment has few due jobs of a kind, and the offer has capacity for them, the jobs are claimed instead. Null:
 * another sweep is under way.
 */
export async function dispatchDue(
  db: Db,
  kinds: readonly string[],
  window: number,
  { capacity, leaseMs, batchMs, limits, keepsExpired = false }: SweepOffer = NO_CAPACITY,
  floors: Floors = NO_FLOORS,
): Promise<SweepResult | null> {
  const { rows } = await db.query<Row>({
    name: 'dispatch-due',
    text: DISPATCH_DUE,
    values: [
      window,
      ...perKind(capacity, ({ most }) => [most]),
      ...perKind(capacity, ({ fullEnvironments }) => fullEnvironments),
      ...perKind(capacity, ({ fullDestinations }) => fullDestinations),
      leaseMs,
      batchMs,
      [...limits.keys()],
      Array.from(limits.values(), ({ batchSize }) => batchSize),
      Array.from(limits.values(), ({ perWorker }) => perWorker),
      kinds,
      !keepsExpired,
      ...floorValues(floors),
    ],
  })
  if (!rows[0]?.is_ours) return null
  const swept: SweepResult = { batches: [], claimed: [] }
  for (const row of rows) {
    if (row.kind === null) continue
    if (row.number !== null) swept.batches.push({ kind: row.kind, number: row.number, count: row.count })
    else swept.claimed.push(claimedJob(row.kind, row))
  }
  return swept
}

/** Milliseconds until the next job of these kinds falls due; null when no job does within `withinMs`: what is due later is not read. */
export async function nextDue(db: Db, kinds: readonly string[], withinMs: number, floors: Floors = NO_FLOORS): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>({
    name: 'next-due',
    text: `with recursive ${groupsAbove(3)}
           select (min(extract(epoch from d.due_at - e.clock_offset - clock_timestamp())) * 1000)::float8 as ms
           from groups g ${CLOCK_OF_GROUP} cross join lateral (
             select due_at from due where ${OF_GROUP} and due_at > statement_timestamp() + e.clock_offset
               and due_at <= statement_timestamp() + e.clock_offset + make_interval(secs => $2::float8 / 1000)
             order by due_at limit 1) d
           where g.kind = any ($1)`,
    values: [kinds, withinMs, ...floorValues(floors)],
  })
  return rows[0]?.ms ?? null
}

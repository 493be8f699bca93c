import { hasNoTurns } from './groups.ts'

/**
 * The capacity of a process for the jobs that its own transaction is about to insert or to wake: `most` jobs in all, and for a destination
 * the number in `rooms`, or `room` where `rooms` has no number for it. The statement that inserts the jobs may claim them for `leaseMs`:
 * these jobs need no notification and no sweep.
 */
export type InsertCapacity = { most: number; rooms: ReadonlyMap<number, number>; room: number; leaseMs: number }

/**
 * In SQL: the lease of a job that is inserted now into environment $1; null, so every worker may claim the job at once, unless `condition`.
 * While the clock of the environment is advanced, its jobs are claimed in their turns only.
 */
export const leaseIf = (condition: string, leaseMs: string): string =>
  `case when ${condition} and ${hasNoTurns('$1')} then clock_timestamp() + make_interval(secs => ${leaseMs}::float8 / 1000) end`

/** In SQL: the lease of one of several jobs, which is the `nth` of all and the `nthOf` of its `destination`. `first`: the number of the first parameter. */
export function leaseOfNth({ nth, nthOf, destination, first }: { nth: string; nthOf: string; destination: string; first: number }): string {
  const [most, destinations, rooms, room, leaseMs] = Array.from({ length: 5 }, (_, i) => `$${first + i}`)
  const roomOf = `coalesce((select r.room from unnest(${destinations}::int[], ${rooms}::int[]) r(destination, room)
    where r.destination = ${destination} limit 1), ${room}::int)`
  return leaseIf(`${nth} <= ${most}::int and ${nthOf} <= ${roomOf}`, leaseMs!)
}

/** The parameters of a statement that claims what it inserts; without capacity it claims nothing. */
export const capacityValues = (
  capacity: InsertCapacity | null,
): [most: number, destinations: number[], rooms: number[], room: number, leaseMs: number] => [
  capacity?.most ?? 0,
  [...(capacity?.rooms.keys() ?? [])],
  [...(capacity?.rooms.values() ?? [])],
  capacity?.room ?? 0,
  capacity?.leaseMs ?? 0,
]

/** The fence of a job after its first claim. */
export const FIRST_FENCE = 1

import { hasNoTurns } from './groups.ts'

/**
 * The capacity of a process for the jobs that its own transaction is about to insert: `most` jobs in all, none for `fullDestinations`. The
 * statement that inserts the jobs may claim them for `leaseMs`, which spares the jobs a notification and a sweep.
 */
export type InsertCapacity = { most: number; fullDestinations: number[]; leaseMs: number }

/**
 * In SQL: the lease of a job that is inserted now into environment $1; null, so every worker may claim the job at once, unless `condition`.
 * While the clock of the environment is advanced, its jobs are claimed in their turns only.
 */
export const leaseIf = (condition: string, leaseMs: string): string =>
  `case when ${condition} and ${hasNoTurns('$1')} then clock_timestamp() + make_interval(secs => ${leaseMs}::float8 / 1000) end`

/** The parameters of a statement that claims what it inserts; without capacity it claims nothing. */
export const capacityValues = (capacity: InsertCapacity | null): [most: number, fullDestinations: number[], leaseMs: number] => [
  capacity?.most ?? 0,
  capacity?.fullDestinations ?? [],
  capacity?.leaseMs ?? 0,
]

/** The fence of a job after its first claim. */
export const FIRST_FENCE = 1

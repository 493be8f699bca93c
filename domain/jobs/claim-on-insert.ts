/**
 * What a process has room for of the promises that its own transaction is about to make: so many in all, none for these destinations.
 * The statement that makes them may claim them in the same breath, which spares them the way through a notice and a sweep.
 */
export type InsertCapacity = { most: number; fullDestinations: number[]; leaseMs: number }

/** In SQL: from when on others may claim what is made now; null, and so for everybody at once, unless `condition`. */
export const leaseIf = (condition: string, leaseMs: string): string =>
  `case when ${condition} then clock_timestamp() + make_interval(secs => ${leaseMs}::float8 / 1000) end`

/** Parameters of a statement that claims what it makes: nothing, where there is no room. */
export const capacityValues = (room: InsertCapacity | null): [most: number, fullDestinations: number[], leaseMs: number] => [
  room?.most ?? 0,
  room?.fullDestinations ?? [],
  room?.leaseMs ?? 0,
]

/** The first claim of a promise has this fence. */
export const FIRST_FENCE = 1

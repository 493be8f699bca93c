import type { Environment } from '../environment.ts'

/** A promise in this worker's hands: whoever records for it must show the same fence. */
export type ClaimedJob = { kind: string; id: number; fence: number; environment: Environment; destination: number | null }

/**
 * In SQL: the fence of a promise that is made once more for the same thing. Higher than any that was there: what a former holder still
 * wants to record is void, and nobody takes it for a promise that was never claimed, of which nothing can be recorded yet. Seconds
 * since 2023: a claim holds for one at least, and they fit until 2091.
 */
export const NEXT_FENCE = 'floor(extract(epoch from clock_timestamp()) - 1700000000)::int'

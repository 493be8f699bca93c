const SHORTEST_SECONDS = 10
const LONGEST_SECONDS = 3600

/** If a store does not answer for this long, nothing more is fetched for the pending notifications: they are set aside. */
export const MOST_FAILING_SECONDS = 7 * 24 * 3600

/**
 * Seconds until the next fetch from a store that has failed: full jitter, so that queues that failed together are not repeated together.
 * `attempts`: the number of earlier failures. `afterMs`: the wait that the store states. `random` in [0, 1).
 */
export function refreshWait(attempts: number, afterMs: number | null, random = Math.random()): number {
  const most = Math.min(LONGEST_SECONDS, SHORTEST_SECONDS * 2 ** Math.min(attempts, 20))
  return Math.max(SHORTEST_SECONDS, most * random, (afterMs ?? 0) / 1000)
}

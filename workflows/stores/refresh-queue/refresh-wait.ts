const SHORTEST_SECONDS = 10
const LONGEST_SECONDS = 3600

/** A store that answers nothing for so long gets no more fetches for what is pending: the notifications are set aside. */
export const MOST_FAILING_SECONDS = 7 * 24 * 3600

/**
 * Seconds until the next fetch from a store that has failed: full jitter, so that queues that failed together do not come back together. `attempts`:
 * how many have failed before. `afterMs`: the store's own word. `random` in [0, 1).
 */
export function refreshWait(attempts: number, afterMs: number | null, random = Math.random()): number {
  const most = Math.min(LONGEST_SECONDS, SHORTEST_SECONDS * 2 ** Math.min(attempts, 20))
  return Math.max(SHORTEST_SECONDS, most * random, (afterMs ?? 0) / 1000)
}

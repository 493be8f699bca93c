/** What comes soon is seen soon. To ask a hundred times a second for longer takes the processor from what is waited for. */
const SHORTEST_MS = 10
const LONGEST_MS = 50
const pauseAfter = (waitedMs: number): number => Math.min(LONGEST_MS, SHORTEST_MS + waitedMs / 20)

/** Repeats `check` until it returns a value; fails with `what` after `ms`. */
export async function until<T>(what: string, check: () => Promise<T | undefined> | T | undefined, ms = 60_000): Promise<T> {
  const start = performance.now()
  for (;;) {
    const answer = await check()
    if (answer !== undefined) return answer
    const waited = performance.now() - start
    if (waited > ms) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, pauseAfter(waited)))
  }
}

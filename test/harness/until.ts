/** Repeats `ask` until it returns a value; fails with `what` after `ms`. */
export async function until<T>(what: string, ask: () => Promise<T | undefined> | T | undefined, ms = 60_000): Promise<T> {
  const end = performance.now() + ms
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

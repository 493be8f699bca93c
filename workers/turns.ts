/** `again`: whether the key takes its place at the end of the line for another turn. */
type Turn<T> = (subject: T) => Promise<{ again: boolean }>

/**
 * Gives each key that was woken its turn: at most `atOnce` at a time, never two of one key, and whoever wants another one goes to the end of
 * the line. So a key waits for one turn of each other key, however much these have to do.
 */
export function turns<T>(atOnce: number, turn: Turn<T>) {
  let stopped = false
  const waiting = new Map<string, T>()
  const running = new Map<string, Promise<void>>()
  // Woken during their turns: what woke them may be too late for these turns.
  const wokenAgain = new Set<string>()

  async function take(key: string, subject: T): Promise<void> {
    const { again } = await turn(subject)
    running.delete(key)
    if (wokenAgain.delete(key) || again) waiting.set(key, subject)
    begin()
  }

  function begin(): void {
    for (const [key, subject] of waiting) {
      if (stopped || running.size >= atOnce) return
      waiting.delete(key)
      running.set(key, take(key, subject))
    }
  }

  return {
    wake(key: string, subject: T): void {
      if (running.has(key)) wokenAgain.add(key)
      else {
        waiting.set(key, subject)
        begin()
      }
    },
    /** Resolves when the turns under way have ended. */
    async stop(): Promise<void> {
      stopped = true
      await Promise.all(running.values())
    },
  }
}

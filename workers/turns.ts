/** `again`: whether the key goes to the end of the queue for another turn. */
type Turn<T> = (subject: T) => Promise<{ again: boolean }>

/**
 * Gives each key that was woken its turn: at most `atOnce` at a time, never two of one key. A key that needs another turn goes to the end
 * of the queue. So a key waits for one turn of each other key, however much work the others have.
 */
export function turns<T>(atOnce: number, turn: Turn<T>) {
  let stopped = false
  const waiting = new Map<string, T>()
  const running = new Map<string, Promise<void>>()
  // Keys that were woken during their turns: these turns may have begun too early to see the reason of the wake-up.
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

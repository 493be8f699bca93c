type Periodic = { periodMs: number; work: () => Promise<void>; onFailure: (error: unknown) => void }

/** Does the work every `periodMs`, and never twice at the same time: work that overlapped would be slower, and find the same. */
export function periodic({ periodMs, work, onFailure }: Periodic) {
  let current: Promise<void> | undefined
  let stopped = false
  /** Does the work now, unless it is under way. */
  function begin(): void {
    if (stopped) return
    current ??= work()
      .catch(onFailure)
      .finally(() => {
        current = undefined
      })
  }
  const timer = setInterval(begin, periodMs)
  return {
    begin,
    /** Resolves when the work under way has ended. */
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      await current
    },
  }
}

/** Where slots fall due without end, files are made all the same. */
const LONGEST_MS = 5_000

export type StartGate = {
  /** Starts are under way as long as `work` is. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when no starts of this process are under way, or have been for long. */
  over(): Promise<void>
}

/**
 * Starts before files: a start is what has to be in time, and takes a thousandth of what a file takes. Side by side the files of the first
 * slots would take most of the time that the others have to start.
 */
export function startGate(longestMs: number = LONGEST_MS): StartGate {
  let underWay = 0
  const waiting = new Set<() => void>()
  return {
    async during(work) {
      underWay++
      try {
        return await work()
      } finally {
        if (--underWay === 0) for (const go of waiting) go()
      }
    },
    async over() {
      if (underWay === 0) return
      await new Promise<void>(resolve => {
        const go = () => {
          clearTimeout(timer)
          waiting.delete(go)
          resolve()
        }
        const timer = setTimeout(go, longestMs)
        waiting.add(go)
      })
    },
  }
}

/** Files begin after this time even while slots keep falling due. */
const LONGEST_MS = 5_000

export type StartGate = {
  /** Runs `work`, which starts runs: files wait until it has ended. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when this process runs no starts, or after the longest wait. */
  over(): Promise<void>
}

/**
 * Starts go before files: a start must be in time, and takes a thousandth of the time of a file. Side by side, the files of the first slots
 * would use most of the time in which the other slots must start.
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
        if (--underWay === 0) for (const open of waiting) open()
      }
    },
    async over() {
      if (underWay === 0) return
      await new Promise<void>(resolve => {
        const open = () => {
          clearTimeout(timer)
          waiting.delete(open)
          resolve()
        }
        const timer = setTimeout(open, longestMs)
        waiting.add(open)
      })
    },
  }
}

export type TurnOptions = {
  /** The part (0..1) of the turns left by the other keys that one key may use; all of them unless given. */
  share?: number
}

/** `patience`: is called when the task must wait; its signal ends the wait, and never the task. */
type Waiting = { patience?: () => AbortSignal }

/** `hasWaited`: time has passed since the call. */
export type InTurn = <T>(key: number, work: (hasWaited: boolean) => Promise<T>, options?: Waiting) => Promise<T>

/**
 * Runs at most `atOnce` tasks at a time. The others wait in one queue for each `key`, and the keys take turns: in one queue for all, a task
 * after the thousand tasks of another key would wait for all of them. With a share, tasks that never end stop no other key: of ten turns at
 * half a share the first key gets five, the next one three, then one and one.
 */
export function takingTurns(atOnce: number, { share = 1 }: TurnOptions = {}): InTurn {
  let running = 0
  const runningOf = new Map<number, number>()
  const waiting = new Map<number, Set<() => void>>()

  function hasTurn(key: number): boolean {
    const own = runningOf.get(key) ?? 0
    return running < atOnce && own < Math.ceil(share * (atOnce - running + own))
  }
  function count(key: number, by: 1 | -1): void {
    running += by
    const own = (runningOf.get(key) ?? 0) + by
    if (own > 0) runningOf.set(key, own)
    else runningOf.delete(key)
  }

  function startNext(): void {
    for (const [key, starts] of waiting) {
      if (running >= atOnce) return
      if (!hasTurn(key)) continue
      const [start] = starts
      starts.delete(start!)
      // The key goes to the end of the queue, unless it has no more tasks.
      waiting.delete(key)
      if (starts.size > 0) waiting.set(key, starts)
      count(key, 1)
      start!()
    }
  }

  /** Resolves when a turn of the key is counted. */
  const turn = (key: number, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      signal?.throwIfAborted()
      const starts = waiting.get(key) ?? new Set()
      const start = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        starts.delete(start)
        if (starts.size === 0 && waiting.get(key) === starts) waiting.delete(key)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      waiting.set(key, starts.add(start))
    })

  return async (key, work, { patience } = {}) => {
    const hasWaited = waiting.has(key) || !hasTurn(key)
    if (hasWaited) await turn(key, patience?.())
    else count(key, 1)
    try {
      return await work(hasWaited)
    } finally {
      count(key, -1)
      startNext()
    }
  }
}

/**
 * Runs at most `atOnce` pieces of work at a time. The others wait in one queue for each `key`, and the keys take turns: in one queue for
 * all, a piece of work behind the thousand of another key would wait for all of them.
 */
export function takingTurns(atOnce: number): <T>(key: number, work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting = new Map<number, (() => void)[]>()

  const startNext = () => {
    const [first] = waiting
    if (running >= atOnce || !first) return
    const [key, starts] = first
    // The key goes to the end of the line, unless no work of it is left.
    waiting.delete(key)
    const start = starts.shift()!
    if (starts.length > 0) waiting.set(key, starts)
    running++
    start()
  }

  return async (key, work) => {
    await new Promise<void>(start => {
      const starts = waiting.get(key)
      if (starts) starts.push(start)
      else waiting.set(key, [start])
      startNext()
    })
    try {
      return await work()
    } finally {
      running--
      startNext()
    }
  }
}

/**
 * Lets at most `atOnce` pieces of work go on at a time; the others wait by `key`, and the keys take turns. In one queue for all, whoever
 * comes after somebody's thousand waits for all of them.
 */
export function takingTurns(atOnce: number): <T>(key: number, work: () => Promise<T>) => Promise<T> {
  let underWay = 0
  const waiting = new Map<number, (() => void)[]>()

  const next = () => {
    const [first] = waiting
    if (underWay >= atOnce || !first) return
    const [key, starts] = first
    // To the end of the line, unless nothing of it is left.
    waiting.delete(key)
    const start = starts.shift()!
    if (starts.length > 0) waiting.set(key, starts)
    underWay++
    start()
  }

  return async (key, work) => {
    await new Promise<void>(start => {
      const starts = waiting.get(key)
      if (starts) starts.push(start)
      else waiting.set(key, [start])
      next()
    })
    try {
      return await work()
    } finally {
      underWay--
      next()
    }
  }
}

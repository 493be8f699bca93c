/** Runs at most `most` tasks of one key at a time; the other tasks of the key wait in the order in which they came. */
export function limitPerKey(most: number): <T>(key: number, work: () => Promise<T>) => Promise<T> {
  const ofKeys = new Map<number, { running: number; waiting: (() => void)[] }>()
  return async (key, work) => {
    const of = ofKeys.get(key) ?? { running: 0, waiting: [] }
    ofKeys.set(key, of)
    if (of.running < most) of.running++
    // A task that ends passes its turn to the next one.
    else await new Promise<void>(resolve => of.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = of.waiting.shift()
      if (next) next()
      else if (--of.running === 0) ofKeys.delete(key)
    }
  }
}

/** `slow`: no result came in time; `last` is the one before, if there is one. */
export type Throttled<T> = { is: 'read'; value: T } | { is: 'failed'; error: unknown } | { is: 'slow'; last: T | null }

export type ThrottleOptions<T> = {
  /** A result is not read again for so many milliseconds. */
  freshMs: number
  /** How old a result is already when it has been read, in milliseconds. */
  ageMs?: (value: T) => number
  /** The longest wait for a result, in milliseconds: with an earlier one to give, and without. */
  waitMs: { withLast: number; withoutLast: number }
}

/** Reads at most one at a time, however many callers there are, and answers each of them in time, however slow the read is. */
export function throttled<T>(
  read: () => Promise<T>,
  { freshMs, ageMs = () => 0, waitMs }: ThrottleOptions<T>,
): () => Promise<Throttled<T>> {
  let result: Exclude<Throttled<T>, { is: 'slow' }> | undefined
  let readAt = 0
  let last: T | null = null
  let reading: Promise<Throttled<T>> | undefined

  async function readNow(): Promise<Throttled<T>> {
    let old = 0
    try {
      last = await read()
      old = ageMs(last)
      result = { is: 'read', value: last }
    } catch (error) {
      result = { is: 'failed', error }
    }
    readAt = performance.now() - old
    reading = undefined
    return result
  }

  return async () => {
    if (result && performance.now() - readAt < freshMs) return result
    reading ??= readNow()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Throttled<T>>(resolve => {
      timer = setTimeout(() => resolve({ is: 'slow', last }), last === null ? waitMs.withoutLast : waitMs.withLast)
    })
    return Promise.race([reading, late]).finally(() => clearTimeout(timer))
  }
}

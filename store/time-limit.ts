/** One reason for all: `AbortSignal.timeout` makes an error with its stack whenever a time is over, most of which nobody waits for any more. */
const OVER = new DOMException('The time is over', 'TimeoutError')

/** `end`: the time does not matter any more. A limit without an end costs a timer. */
export type TimeLimit = { signal: AbortSignal; end(): void }

/** Aborts after so many milliseconds, with a `TimeoutError`. Does not keep the process alive. */
export function timeLimit(ms: number): TimeLimit {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(OVER), ms)
  timer.unref()
  return { signal: controller.signal, end: () => clearTimeout(timer) }
}

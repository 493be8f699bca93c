/**
 * One reason for all signals: `AbortSignal.timeout` makes an error with its stack whenever a time is over, and mostly nothing waits for the
 * signal any more.
 */
const OVER = new DOMException('The time is over', 'TimeoutError')

/** `end`: cancels the limit. A limit without an end keeps its timer. */
export type TimeLimit = { signal: AbortSignal; end(): void }

/** Aborts after so many milliseconds, with a `TimeoutError`. Does not keep the process alive. */
export function timeLimit(ms: number): TimeLimit {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(OVER), ms)
  timer.unref()
  return { signal: controller.signal, end: () => clearTimeout(timer) }
}

import { Gauge, type Registry } from 'prom-client'

/** Often enough to see a delay of a twentieth of a second, and seldom enough to cost nothing. */
const PERIOD_MS = 10

/**
 * How long one piece of work has held up all others in this process. Measured by a timer of its own: the histogram of `perf_hooks`, which
 * the default metrics show, stays at 0 on Deno.
 */
export function eventLoopDelay(registers: Registry[]): { close(): void } {
  let expected = performance.now() + PERIOD_MS
  let longestMs = 0
  const look = () => {
    const now = performance.now()
    longestMs = Math.max(longestMs, now - expected)
    expected = now + PERIOD_MS
  }
  const timer = setInterval(look, PERIOD_MS).unref()
  new Gauge({
    name: 'perennial_event_loop_delay_seconds',
    help: 'The longest time since the last reading for which one piece of work has held up all others of the process',
    registers,
    collect() {
      this.set(longestMs / 1000)
      longestMs = 0
    },
  })
  return { close: () => clearInterval(timer) }
}

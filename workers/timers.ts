import type { Logger } from 'pino'
import { rootSpan } from '../store/tracing.ts'

/** A kind of job that one transaction completes: no run, no steps, no lease of its own. */
export type Timer = {
  kind: string
  /** Executes a due job once; a job that is not due, or not any more, is skipped. */
  fire(id: number): Promise<unknown>
  /** Completes those jobs that can be completed together, and returns the ids of those that are to be fired one by one. */
  fireTogether?(ids: number[]): Promise<number[]>
}

const CONCURRENCY = 4

/**
 * Fires the timers of one batch, a few at a time. A timer that fails does not hold up the others: it stays due, is dispatched again, and is
 * overdue after a minute.
 */
export async function fireAll(timer: Timer, ids: number[], log: Logger): Promise<void> {
  const distinct = [...new Set(ids)]
  const rest = timer.fireTogether ? await fireTogether(timer.fireTogether, distinct) : distinct
  const fireRest = async () => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift())
      await rootSpan(`timer ${timer.kind}`, () => timer.fire(id)).catch(error =>
        log.error({ err: error, kind: timer.kind, id }, 'a timer failed'),
      )
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, fireRest))

  async function fireTogether(fire: NonNullable<Timer['fireTogether']>, all: number[]): Promise<number[]> {
    return fire(all).catch(error => {
      log.warn({ err: error, kind: timer.kind }, 'timers could not be fired together')
      return all
    })
  }
}

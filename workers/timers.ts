import type { Logger } from 'pino'

/** A kind of promise that is kept by one transaction: no run, no steps, no lease. */
export type Timer = {
  kind: string
  /** Does what is due, once; a promise that is not (or no longer) due is passed over. */
  fire(id: number): Promise<unknown>
  /** Does what can be done of many together, and gives back those that are to be fired one by one. */
  fireTogether?(ids: number[]): Promise<number[]>
}

const AT_ONCE = 4

/**
 * Fires the promises of one ring, a few at a time. One that fails does not hold up the others: it stays due, is rung again, and counts
 * as overdue after a minute.
 */
export async function fireAll(timer: Timer, ids: number[], log: Logger): Promise<void> {
  const distinct = [...new Set(ids)]
  const rest = timer.fireTogether ? await together(timer.fireTogether, distinct) : distinct
  const work = async () => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift())
      await timer.fire(id).catch(error => log.error({ err: error, kind: timer.kind, id }, 'a timer failed'))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))

  async function together(fire: NonNullable<Timer['fireTogether']>, all: number[]): Promise<number[]> {
    return fire(all).catch(error => {
      log.warn({ err: error, kind: timer.kind }, 'timers could not be fired together')
      return all
    })
  }
}

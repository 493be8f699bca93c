import { type EndsOfLogs, eventsBetween, logEnds } from '../../../domain/events/since.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import type { Pool } from '../../../store/connect.ts'

const EVERY_MS = 1_000
/** Between two looks: nobody is told more often, however much is appended. */
const LEAST_MS = 500
const MOST_IDS = 20

/**
 * Looks for events that the logs of the watched environments have gained: a log without consumers is announced to nobody. `look`: soon, and not in a
 * second. `found` without ids: perhaps there are some.
 */
export function newEvents(pool: Pool, watched: () => Environment[], found: (environment: Environment, ids: string[]) => void) {
  let known: EndsOfLogs = new Map()
  let isLooking = false
  let lookedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined

  async function lookNow(): Promise<void> {
    const environments = watched()
    const ends = environments.length === 0 ? new Map<Environment, number[]>() : await logEnds(pool, environments)
    const before = known
    known = ends
    for (const [environment, after] of ends) {
      const earlier = before.get(environment)
      // Where the log ended when somebody began to watch it nobody knows.
      if (!earlier) found(environment, [])
      else if (after.some((end, partition) => end > earlier[partition]!))
        found(environment, await eventsBetween(pool, environment, [earlier, after], MOST_IDS).catch(() => []))
    }
  }

  const look = (): void => {
    if (isLooking || soon) return
    const wait = lookedAt + LEAST_MS - performance.now()
    if (wait > 0) {
      soon = setTimeout(lookAfterAll, wait).unref()
      return
    }
    isLooking = true
    lookedAt = performance.now()
    void lookNow()
      .catch(() => {})
      .finally(() => {
        isLooking = false
      })
  }

  const lookAfterAll = (): void => {
    soon = undefined
    look()
  }

  return {
    look,
    start() {
      known = new Map()
      look()
      timer = setInterval(look, EVERY_MS).unref()
    },
    stop() {
      clearInterval(timer)
      clearTimeout(soon)
      soon = undefined
    },
  }
}

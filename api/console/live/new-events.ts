import { type EndsOfLogs, eventsBetween, logEnds } from '../../../domain/events/since.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import type { Pool } from '../../../store/connect.ts'

const EVERY_MS = 1_000
const MOST_IDS = 20

/**
 * Looks for events that the logs of the watched environments have gained: a log without consumers is announced to nobody. `look`: now, and not in a
 * second.
 */
export function newEvents(pool: Pool, watched: () => Environment[], found: (environment: Environment, ids: string[]) => void) {
  let known: EndsOfLogs = new Map()
  let isLooking = false
  let timer: NodeJS.Timeout | undefined

  async function lookNow(): Promise<void> {
    const environments = watched()
    const ends = environments.length === 0 ? new Map<Environment, number[]>() : await logEnds(pool, environments)
    const before = known
    known = ends
    for (const [environment, after] of ends) {
      const earlier = before.get(environment)
      if (earlier && after.some((end, partition) => end > earlier[partition]!))
        found(environment, await eventsBetween(pool, environment, [earlier, after], MOST_IDS))
    }
  }

  const look = (): void => {
    if (isLooking) return
    isLooking = true
    void lookNow()
      .catch(() => {})
      .finally(() => {
        isLooking = false
      })
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
    },
  }
}

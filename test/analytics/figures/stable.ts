import { type ChartQuestion, chartAnswer, type Labels } from '../../oracle/answer.ts'
import type { History } from '../../oracle/history.ts'
import { type World, worldOf } from '../../oracle/world.ts'

/** Longer than the service may take to hear of everything and to answer. */
const MEANWHILE = 120

/** The same a little later: what was heard in the test was heard later as well. */
function later(history: History): History {
  const since = history.now - MEANWHILE
  const shifted = (at: number | null) => (at !== null && at >= since ? at + MEANWHILE : at)
  return {
    ...history,
    now: history.now + MEANWHILE,
    arrivals: history.arrivals.map(arrival =>
      arrival.is === 'purchase'
        ? {
            ...arrival,
            autoRenewOffAt: shifted(arrival.autoRenewOffAt),
            autoRenewChanges: arrival.autoRenewChanges.map(at => shifted(at)!),
          }
        : arrival,
    ),
    occurrences: history.occurrences.map(one => ({ ...one, happenedAt: shifted(one.happenedAt)! })),
  }
}

/** The answer of the witness; null when it depends on the very second at which the service is asked. */
export function stable<T>(history: History, answer: (world: World) => T): T | null {
  const [now, then] = [history, later(history)].map(one => answer(worldOf(one)))
  return JSON.stringify(now) === JSON.stringify(then) ? now! : null
}

export const stableAnswer = (history: History, question: ChartQuestion, labels: Labels): ReturnType<typeof chartAnswer> | null =>
  stable(history, world => chartAnswer(world, question, labels))

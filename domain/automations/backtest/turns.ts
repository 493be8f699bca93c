import { takingTurns } from '../../../store/taking-turns.ts'
import type { Environment } from '../../kernel/environment.ts'
import { Refusal } from '../../kernel/refusal.ts'

/**
 * The share of backtests: each uses a connection of the pool, and a core of Postgres, for up to thirty seconds. The other connections are
 * for all other requests.
 */
const AT_ONCE = 2
/** One environment leaves a turn for another one. */
const SHARE = 1 / 2
/** After this time no caller waits for the answer any more. */
const LONGEST_WAIT_MS = 60_000

export type BacktestTurns = <T>(environment: Environment, play: () => Promise<T>) => Promise<T>

/** Backtests of one process: a few at a time, environment by environment. Throws `upstream_timeout` when the turn comes too late. */
export function backtestTurns(longestWaitMs = LONGEST_WAIT_MS): BacktestTurns {
  const inTurn = takingTurns(AT_ONCE, { share: SHARE })
  return (environment, play) => {
    const enteredAt = performance.now()
    return inTurn(environment, () => {
      if (performance.now() - enteredAt > longestWaitMs)
        throw new Refusal('upstream_timeout', 'too many backtests are under way: try again later')
      return play()
    })
  }
}

import { Refusal } from '../domain/kernel/refusal.ts'
import type { Pool } from '../store/connect.ts'
import { type InTurn, takingTurns } from '../store/taking-turns.ts'

/** The share of the free turns that one environment may use. */
const SHARE = 1 / 2
/** Concurrent requests with expensive reads, as a part of all. */
export const EXPENSIVE_SHARE = 0.4
/** After this time a caller hardly waits any longer. */
const LONGEST_WAIT_MS = 10_000

export type RequestTurns = <T>(environment: number, isExpensive: boolean, work: () => Promise<T>) => Promise<T>
/** Runs statements of one environment in its turn. */
export type StatementTurn = <T>(work: (db: Pool) => Promise<T>) => Promise<T>

/**
 * Lets `atOnce` requests use the database at the same time, so that each finds a connection. An environment whose statements hang leaves
 * connections for the next environment, and its expensive reads leave turns for its own other requests. A request that waits too long gets
 * `upstream_timeout`.
 */
export function requestTurns(atOnce: number, longestWaitMs: number = LONGEST_WAIT_MS): RequestTurns {
  const all = takingTurns(atOnce, { share: SHARE })
  const expensive = takingTurns(Math.ceil(atOnce * EXPENSIVE_SHARE), { share: SHARE })
  const tooLate = new Refusal('upstream_timeout', 'too many slow requests are under way: try again later')
  const patience = (): AbortSignal => {
    const late = new AbortController()
    setTimeout(() => late.abort(tooLate), longestWaitMs).unref()
    return late.signal
  }
  const inTurn = <T>(turns: InTurn, environment: number, work: () => Promise<T>) => turns(environment, work, { patience })
  return (environment, isExpensive, work) =>
    isExpensive ? inTurn(expensive, environment, () => inTurn(all, environment, work)) : inTurn(all, environment, work)
}

import { setTimeout as wait } from 'node:timers/promises'
import { restBudget, type StoreBudget, takeRequest } from '../../domain/purchases/store-inbox/budget.ts'
import type { Db } from '../../store/connect.ts'

/** The requests that the project may still send to a store. `family`: a part of the store's API with a quota of its own. */
export type Quota = {
  /** Waits until one request may be sent. Null: it may be sent; else the time in ms until one may be granted, which is too long to wait for here. */
  take(family?: string): Promise<number | null>
  /** The store has refused a request because of its rate limit. `afterMs`: the wait that the store states; null: none. */
  rest(afterMs: number | null, family?: string): Promise<void>
}

/** The wait when the store reports a rate limit without a time. */
const REST_MS = 10_000

/** How long a request may wait for its turn: a caller waits for a claim, but the job of a queue can be repeated later. */
const PATIENCE_MS = { claim: 5_000, refresh: 1_000 }

/** The same for a sweep: a repeated sweep would begin again with its first page. */
export const SWEEP_PATIENCE_MS = 20_000

/** For what decides nothing: it is sent at once, or not at all. */
export const NO_PATIENCE_MS = 0

/** Counts requests in the budgets that all processes share. */
export const quotaOf = (
  db: Db,
  budget: Omit<StoreBudget, 'family'>,
  purpose: 'claim' | 'refresh',
  signal: AbortSignal,
  patienceMs = PATIENCE_MS[purpose],
): Quota => ({
  async take(family = '') {
    const until = performance.now() + patienceMs
    for (;;) {
      const granted = await takeRequest(db, { ...budget, family }, purpose)
      if (granted.is === 'granted') return null
      if (performance.now() + granted.afterMs > until) return granted.afterMs
      await wait(granted.afterMs, undefined, { signal })
    }
  },
  rest: (afterMs, family = '') => restBudget(db, { ...budget, family }, afterMs ?? REST_MS),
})

/** The answer of a client that must not send its request yet. */
export const overQuota = (afterMs: number) => ({ is: 'later', why: OVER_QUOTA, afterMs }) as const

/** The reason why nothing was fetched: the budget, not the store. */
export const OVER_QUOTA = 'quota'

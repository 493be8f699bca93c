import { setTimeout as wait } from 'node:timers/promises'
import { restBudget, type StoreBudget, takeRequest } from '../../domain/purchases/store-inbox/budget.ts'
import type { Db } from '../../store/connect.ts'

/** What the project may still fetch from a store. `family`: a part of the store's API with a quota of its own. */
export type Quota = {
  /** Waits for the turn of one request. Null: it may be sent; else in how many ms one may be granted: too long to wait for here. */
  take(family?: string): Promise<number | null>
  /** The store has refused a request as one too many. `afterMs`: its own word; null: it says none. */
  rest(afterMs: number | null, family?: string): Promise<void>
}

/** The store says that there were too many requests, and not for how long to wait. */
const REST_MS = 10_000

/** How long a request may wait for its turn: a claim has a caller who waits, a queue can come back. */
const PATIENCE_MS = { claim: 5_000, refresh: 1_000 }

/** A sweep that came back later would begin its pages anew. */
export const SWEEP_PATIENCE_MS = 20_000

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

/** Why nothing was fetched: the budget, not the store. */
export const OVER_QUOTA = 'quota'

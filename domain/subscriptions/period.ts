/** One subscription period as a fact; times in ms. What it does not carry, its lineage decides (`chain.ts`). */
export type Period = {
  begins: number
  /** null: open until something else ends it (posted events may not say). */
  expires: number | null
  /** Free (a trial); otherwise it is a paid period when `paid`. */
  trial: boolean
  paid: boolean
  /** While it is the last one: whether auto-renew is on; afterwards: whether it was on when the period ended. */
  autoRenewing: boolean
  autoRenewOffAt: number | null
  retryAt: number | null
  graceUntil: number | null
  /** Of a full refund; a partial one changes nothing here. */
  refundedAt: number | null
}

export const DAY_MS = 86_400_000
/** A renewal this long after the end still belongs to the same run. */
export const JOIN_MS = DAY_MS
/** The last instant that times can name. */
export const LAST_MS = Date.parse('9999-12-31T23:59:59Z')
/** Billing retry lasts so long unless the store says otherwise. */
export const RETRY_MS = 60 * DAY_MS

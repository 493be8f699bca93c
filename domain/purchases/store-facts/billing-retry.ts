import { secondOf } from '../../kernel/time/instant.ts'
import { JOIN_MS, parseTime } from '../subscriptions/period.ts'
import type { RecordablePeriod } from './stated-period.ts'

/** Times as texts. `first`: the earliest statement of billing retry, even if it was taken back since. */
export type BillingRetry = { since: string | null; first: string | null; graceUntil: string | null }

const earlier = (a: string, b: string | null | undefined) => (b != null && b < a ? b : a)

/**
 * Whether the next period proves that the charge after this one had failed: the store calls the next period recovered, or it is a renewal
 * over 24 h late.
 */
function isProof(period: RecordablePeriod, next: RecordablePeriod): boolean {
  if (next.isRecovered === true) return true
  const end = parseTime(period.ends)
  if (next.isRenewal !== true || end === null) return false
  return Date.parse(next.begins) > end + JOIN_MS
}

/**
 * Until when the grace period gives access; null: not at all. An announced end is a forecast: when the store says that the grace is over, that the
 * subscription is on hold or that it gave up charging, access ends then, at the latest.
 */
function graceOf({ ends, graceUntil, graceOverAt }: RecordablePeriod, gaveUpAt: number | null): string | null {
  const announced = parseTime(graceUntil)
  if (announced === null) return null
  const over = Math.min(announced, parseTime(graceOverAt) ?? announced, gaveUpAt ?? announced)
  if (over === announced) return graceUntil!
  return over > (parseTime(ends) ?? Number.NEGATIVE_INFINITY) ? secondOf(over) : null
}

/**
 * Billing retry of a subscription period, computed from the next period and from the time since when the store charges no longer (ms). It
 * begins at the latest with the end of the period, so no gap opens before it.
 */
export function billingRetryOf(period: RecordablePeriod, next: RecordablePeriod | undefined, gaveUpAt: number | null): BillingRetry {
  const proven = next && isProof(period, next) ? (period.ends ?? null) : null
  const stated = period.retrySince ?? null
  const since = stated === null ? proven : earlier(stated, period.ends)
  const first = period.firstRetryAt === null ? since : earlier(period.firstRetryAt, period.ends)
  return { since, first, graceUntil: since === null ? null : graceOf(period, gaveUpAt) }
}

import { type OffCause, parseTime } from '../subscriptions/period.ts'
import type { AutoRenew } from './auto-renew.ts'
import type { BillingRetry } from './billing-retry.ts'

/**
 * Why auto-renew is off at the end of a period, where the customer did not switch it off; null also where it is on. The store may tell who did. Where
 * it does not, a subscription that was on until the store gave up during billing retry, or that is still on, ended because of the charge: whoever
 * cancels does so before that.
 */
export function offCauseOf(
  { isOn, changes, gaveUpAt, isLeftOn, hasFailed, isVoluntary }: AutoRenew,
  { since }: BillingRetry,
): OffCause | null {
  const offAt = changes.at(-1)
  if (isOn || offAt === undefined) return null
  const retryAt = parseTime(since)
  const isByCharge = hasFailed === true || (retryAt !== null && retryAt <= offAt)
  if (isVoluntary !== undefined) return isVoluntary ? null : isByCharge ? 'billing_error' : 'store'
  return (isByCharge || isLeftOn) && gaveUpAt !== null && offAt >= gaveUpAt ? 'billing_error' : null
}

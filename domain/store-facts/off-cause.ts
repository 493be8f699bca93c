import { type OffCause, parseTime } from '../subscriptions/period.ts'
import type { AutoRenew } from './auto-renew.ts'
import type { BillingRetry } from './billing-retry.ts'

/**
 * Why auto-renew is off at the end of a period, where the customer did not switch it off; null also where it is on. The store may tell who did. Where
 * it does not, a subscription that was on until the store gave up during billing retry ended because of the charge: whoever cancels
 * during billing retry does so before that.
 */
export function offCauseOf({ isOn, changes, gaveUpAt, hasFailed, isVoluntary }: AutoRenew, { since }: BillingRetry): OffCause | null {
  if (isOn) return null
  const offAt = changes.at(-1)!
  const retryAt = parseTime(since)
  const isByCharge = hasFailed === true || (retryAt !== null && retryAt <= offAt)
  if (isVoluntary !== undefined) return isVoluntary ? null : isByCharge ? 'billing_error' : 'store'
  return isByCharge && gaveUpAt !== null && offAt >= gaveUpAt ? 'billing_error' : null
}

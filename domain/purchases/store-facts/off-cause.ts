import { type OffCause, parseTime } from '../subscriptions/period.ts'
import type { AutoRenew, SwitchedOff } from './auto-renew.ts'
import type { BillingRetry } from './billing-retry.ts'

/**
 * The cause for which auto-renew was switched off; null: the customer. The store may state who did it. Where the store does not, a
 * subscription that was on until the store gave up during billing retry, or whose switch was left on, ended because of the charge: a
 * customer cancels before that, and a later cancellation of what has ended changes nothing.
 */
function offCauseOf({ at, gaveUp, isLeftOn, hasFailed, isVoluntary }: SwitchedOff, retrySince: string | null): OffCause | null {
  if (isVoluntary === true) return isLeftOn ? 'billing_error' : null
  const retryAt = parseTime(retrySince)
  const isByCharge = hasFailed === true || (retryAt !== null && retryAt <= at)
  if (isVoluntary === false) return isByCharge ? 'billing_error' : 'store'
  return (isByCharge || isLeftOn) && gaveUp ? 'billing_error' : null
}

/**
 * The cause of each time that auto-renew was switched off in a period. Where it was switched on again, the billing retry of that time may
 * be over. Empty: no cause is known.
 */
export function offCausesOf({ isOn, offs }: AutoRenew, { since, first }: BillingRetry): (OffCause | null)[] {
  const causes = offs.map((off, i) => offCauseOf(off, isOn || i < offs.length - 1 ? first : since))
  return causes.some(cause => cause !== null) ? causes : []
}

import type { Detail } from '../refusal.ts'
import { eventType } from './catalogue.ts'
import type { EventInput } from './item.ts'
import { isCurrency } from './money.ts'

/** An occurrence may lie this far ahead: clocks of servers differ. */
const FUTURE_MICROS = 5 * 60 * 1_000_000

/** The rules for one item that a schema cannot say; empty when it may be stored. `at` (when it happened) and `now` in µs. */
export function judge(item: EventInput, at: number, now: number): Detail[] {
  const faults: Detail[] = []
  const fault = (field: string, message: string) => faults.push({ field, message })
  const value = eventType(item.event_name)?.value ?? 'custom'
  if (item.customer_uid !== undefined && item.identity_id !== undefined) fault('identity_id', 'is not allowed together with customer_uid')
  if (at > now + FUTURE_MICROS) fault('happened_at', 'lies more than 5 minutes in the future')
  if (item.price !== undefined) {
    if (value === 'none') fault('price', `is not allowed for ${item.event_name}`)
    else if (value !== 'out' && item.price.startsWith('-') && /[1-9]/.test(item.price)) fault('price', 'must be >= 0')
    if (item.currency === undefined) fault('currency', 'is required with price')
    else if (!isCurrency(item.currency.toUpperCase())) fault('currency', 'is no ISO 4217 code')
  } else {
    if (item.currency !== undefined) fault('currency', 'is not allowed without price')
    for (const field of ['proceeds', 'price_usd', 'proceeds_usd'] as const) {
      if (item[field] !== undefined) fault(field, 'is not allowed without price')
    }
  }
  return faults
}

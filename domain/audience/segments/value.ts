import { isDecimal } from './compare.ts'
import type { Comparator } from './condition.ts'
import { ENUMS, type MetricKind } from './metrics.ts'
import { timeValue } from './time.ts'

const BOOLEANS: Record<string, boolean> = { 1: true, true: true, 0: false, false: false }
const INTEGER = /^-?[0-9]+$/
const COUNTRY = /^[A-Za-z]{2}$/
const CONTEXT_KEY = /^[a-zA-Z0-9._-]{0,256}$/

/** The value of a boolean metric; undefined when the text is no boolean. */
export const booleanOf = (value: string): boolean | undefined => (Object.hasOwn(BOOLEANS, value) ? BOOLEANS[value] : undefined)

/** Why the text is not a value of the metric; null when it is. */
export function valueFault(metric: string, kind: MetricKind, comparator: Comparator, value: string): string | null {
  switch (kind) {
    case 'string':
    case 'planned_product':
    case 'property':
    case 'segment':
    case 'experiment':
    case 'listed':
      return null
    // Every text is a version: a part without leading digits counts as 0.
    case 'version':
      return null
    case 'country':
      // A condition may search for a part of a code; a whole code has two letters.
      return comparator === 'contains' || comparator === 'not_contains' || COUNTRY.test(value)
        ? null
        : 'must be a country of two letters such as DE'
    case 'enum':
      return ENUMS[metric]!.includes(value) ? null : `must be one of ${ENUMS[metric]!.join(', ')}`
    case 'boolean':
      return booleanOf(value) === undefined ? 'must be 1, true, 0 or false' : null
    case 'integer':
      return INTEGER.test(value) ? null : 'must be an integer in decimal notation such as 3'
    case 'decimal':
      return isDecimal(value) ? null : 'must be a number in decimal notation such as 9.99'
    case 'time':
      return timeValue(value) ? null : 'must be a day, a date-time or a negative duration such as 2026-03-01, 2026-03-01T09:00:00Z or -P30D'
    case 'context_key':
      return CONTEXT_KEY.test(value) ? null : "must be empty or at most 256 letters, digits, '.', '_' and '-', such as onboarding"
    default:
      return kind satisfies never
  }
}

import { parseTime } from '../subscriptions/period.ts'
import type { ProductLevel } from '../subscriptions/purchase.ts'
import { byWeight, lastReported, type Tied } from './order.ts'
import { type Placed, place } from './placed.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

/**
 * One time (ms) at which auto-renew was switched off. `gaveUp`: from then on the store charged no longer; `isLeftOn`: the customer's switch
 * stayed on. `hasFailed`, `isVoluntary`: the last statement of the store about the cause, until auto-renew was switched on again.
 */
export type SwitchedOff = {
  at: number
  gaveUp: boolean
  isLeftOn: boolean
  hasFailed: boolean | undefined
  isVoluntary: boolean | undefined
}

/**
 * `changes`: the times (ms) at which auto-renew was switched off, on, off … within the period; at the begin of the period it is on. `offs`:
 * the times at which it was switched off. `gaveUpAt`: since when the store charges no longer; null: it charges, or nothing is known of it.
 */
export type AutoRenew = { isOn: boolean; changes: number[]; offs: SwitchedOff[]; gaveUpAt: number | null }

type Switch = Pick<SwitchedOff, 'at' | 'gaveUp' | 'isLeftOn'> & { index: number; on: boolean }

const never = Number.POSITIVE_INFINITY

/** Auto-renew over one period. A store that gave up charging does not renew, even if the switch is on. */
function overPeriod(placed: Placed[]): AutoRenew {
  let isOn = true
  let gaveUpAt: number | null = null
  const switches: Switch[] = []
  for (const [i, { at }] of placed.entries()) {
    // Of several statements at one instant the last one counts: an answer has the time of the end of its second, and must not overwrite
    // what the store reported within this second.
    if (placed[i + 1]?.at === at) continue
    const statements = placed.slice(0, i + 1).map(({ statement }) => statement)
    const hasGivenUp = lastReported(statements, 'gaveUp') ?? false
    gaveUpAt = hasGivenUp ? (gaveUpAt ?? at) : null
    const autoRenews = lastReported(statements, 'autoRenews')
    const on = (autoRenews ?? true) && !hasGivenUp
    if (on === isOn) continue
    switches.push({ index: i, at, on, gaveUp: hasGivenUp, isLeftOn: hasGivenUp && autoRenews === true })
    isOn = on
  }
  const offs = switches.flatMap(({ on, index: _index, ...off }, n): SwitchedOff[] => {
    if (on) return []
    const [from, to] = [switches[n - 1]?.index ?? -1, switches[n + 1]?.index]
    const statements = placed.slice(from + 1, to).map(({ statement }) => statement)
    return [{ ...off, hasFailed: lastReported(statements, 'hasFailed'), isVoluntary: lastReported(statements, 'isVoluntary') }]
  })
  return { isOn, changes: switches.map(({ at }) => at), offs, gaveUpAt }
}

/**
 * Auto-renew of each subscription period of a lineage: on at its begin, then as stated, until the next one begins. A period that the store calls
 * a renewal proves that auto-renew was on at the end of the one before. What callers reported counts as long as the store states nothing.
 */
export function autoRenewOf(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): AutoRenew[] {
  const ofStore = statements.filter(({ origin }) => origin !== 'caller')
  const placed = Map.groupBy(place(periods, ofStore.length > 0 ? ofStore : statements), ({ period }) => period)
  return periods.map((period, i) => {
    const own = overPeriod(placed.get(i) ?? [])
    const { isOn, changes, offs } = own
    const next = periods[i + 1]
    if (isOn || next?.isRenewal !== true) return own
    const end = Math.min(parseTime(period.ends) ?? never, Date.parse(next.begins))
    return { isOn: true, changes: [...changes, Math.max(end, changes.at(-1)!)], offs, gaveUpAt: null }
  })
}

/**
 * The level of each period, where the store stated before its begin that its product was to come next, and at a lower level. Null: it stated nothing
 * of the kind, or took it back.
 */
export function plannedLevels(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): (ProductLevel | null)[] {
  const placed = Map.groupBy(place(periods, statements), ({ period }) => period)
  return periods.map(({ product }, i) => {
    const planned = placed.get(i - 1)?.findLast(({ statement: { reported } }) => reported.nextProduct !== undefined)?.statement.reported
    return planned?.nextProduct === product && planned.nextLevel === 'downgrade' ? { is: 'downgrade' } : null
  })
}

/** Prepaid: as the store stated last. */
export const neverRenews = (statements: Tied<RenewalStatement>[]): boolean =>
  lastReported([...statements].sort(byWeight), 'neverRenews') ?? false

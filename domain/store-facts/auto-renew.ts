import { parseTime } from '../subscriptions/period.ts'
import type { ProductLevel } from '../subscriptions/purchase.ts'
import { byWeight, lastSaid, type Tied } from './order.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

/** `changes`: the times (ms) at which auto-renew was switched off, on, off … within the period. At its begin it is on. */
export type AutoRenew = { isOn: boolean; changes: number[] }

type Placed = { at: number; period: number; statement: Tied<RenewalStatement> }

/**
 * Each statement in the period that had begun last. One that names a period of the lineage does not count before that period begins, nor from the
 * begin of the first period of a later purchase token on: Google may be asked about an expired token that a new one has continued.
 */
function place(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): Placed[] {
  const begins = periods.map(period => Date.parse(period.begins))
  const indexOf = new Map(periods.map(({ subject }, i) => [subject, i]))
  const lastOf = new Map(periods.map(({ ids }, i) => [ids.token, i]))
  const timeOf = ({ statedAt, subject }: RenewalStatement): number => {
    const named = indexOf.get(subject)
    if (named === undefined) return statedAt
    const { token } = periods[named]!.ids
    const continued = token === null ? undefined : begins[lastOf.get(token)! + 1]
    return Math.min(Math.max(statedAt, begins[named]!), continued === undefined ? Number.POSITIVE_INFINITY : continued - 1)
  }
  return statements
    .map(statement => ({ statement, at: timeOf(statement) }))
    .map(placed => ({ ...placed, period: begins.findLastIndex(begin => begin <= placed.at) }))
    .filter(({ period }) => period >= 0)
    .sort((a, b) => a.at - b.at || byWeight(a.statement, b.statement))
}

/** Auto-renew over one period. A store that gave up charging does not renew, whatever the switch says. */
function overPeriod(placed: Placed[]): AutoRenew {
  let isOn = true
  const changes: number[] = []
  for (const [i, { at }] of placed.entries()) {
    const said = placed.slice(0, i + 1).map(({ statement }) => statement)
    const on = (lastSaid(said, 'autoRenews') ?? true) && !(lastSaid(said, 'gaveUp') ?? false)
    if (on === isOn) continue
    changes.push(at)
    isOn = on
  }
  return { isOn, changes }
}

/**
 * Auto-renew of each subscription period of a lineage: on at its begin, then as stated, until the next one begins. A period that the store calls
 * a renewal proves that auto-renew was on at the end of the one before. What callers said counts as long as the store says nothing.
 */
export function autoRenewOf(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): AutoRenew[] {
  const ofStore = statements.filter(({ origin }) => origin !== 'caller')
  const placed = Map.groupBy(place(periods, ofStore.length > 0 ? ofStore : statements), ({ period }) => period)
  return periods.map((period, i) => {
    const { isOn, changes } = overPeriod(placed.get(i) ?? [])
    const next = periods[i + 1]
    if (isOn || next?.isRenewal !== true) return { isOn, changes }
    const end = Math.min(parseTime(period.ends) ?? Number.POSITIVE_INFINITY, Date.parse(next.begins))
    return { isOn: true, changes: [...changes, Math.max(end, changes.at(-1)!)] }
  })
}

/**
 * The level of each period, where the store said before its begin that its product was to come next, and at a lower level. Null: it said nothing
 * of the kind, or took it back.
 */
export function plannedLevels(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): (ProductLevel | null)[] {
  const placed = Map.groupBy(place(periods, statements), ({ period }) => period)
  return periods.map(({ product }, i) => {
    const planned = placed.get(i - 1)?.findLast(({ statement: { said } }) => said.nextProduct !== undefined)?.statement.said
    return planned?.nextProduct === product && planned.nextLevel === 'downgrade' ? { is: 'downgrade' } : null
  })
}

/** Prepaid: the last word of the store. */
export const neverRenews = (statements: Tied<RenewalStatement>[]): boolean =>
  lastSaid([...statements].sort(byWeight), 'neverRenews') ?? false

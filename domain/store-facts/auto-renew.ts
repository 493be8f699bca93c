import { parseTime } from '../subscriptions/period.ts'
import type { ProductLevel } from '../subscriptions/purchase.ts'
import { byWeight, lastSaid, type Tied } from './order.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

/**
 * `changes`: the times (ms) at which auto-renew was switched off, on, off … within the period. At its begin it is on. `gaveUpAt`: since when the
 * store charges no longer; null: it does, or nothing is known of it.
 */
export type AutoRenew = { isOn: boolean; changes: number[]; gaveUpAt: number | null }

const never = Number.POSITIVE_INFINITY

type Placed = { at: number; period: number; statement: Tied<RenewalStatement> }

/**
 * Each statement in the period that had begun last. One that names a period of the lineage does not count before that period begins, nor from the
 * begin of the first period of a later purchase token on: Google may be asked about an expired token that a new one has continued. Nor does one
 * count that names a token which another one had continued by then: Google tells the end of the former, and often late.
 */
function place(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): Placed[] {
  const begins = periods.map(period => Date.parse(period.begins))
  const indexOf = new Map(periods.flatMap(({ subject, aliases = [] }, i) => [subject, ...aliases].map(name => [name, i] as const)))
  const lastOf = new Map(periods.map(({ ids }, i) => [ids.token, i]))
  const replaced = new Map(
    statements.flatMap(({ token, statedAt, said }) => (token !== undefined && said.isReplaced ? [[token, statedAt] as const] : [])),
  )
  const continuedAt = (token: string | null): number => {
    const last = token === null ? undefined : lastOf.get(token)
    return last === undefined ? never : (begins[last + 1] ?? never)
  }
  const timeOf = ({ statedAt, subject, token, said }: RenewalStatement): number => {
    if (said.isReplaced) return Math.min(statedAt, continuedAt(token ?? null) - 1)
    const named = indexOf.get(subject)
    if (named === undefined) return statedAt
    return Math.min(Math.max(statedAt, begins[named]!), continuedAt(periods[named]!.ids.token) - 1)
  }
  const isOfFormer = ({ statedAt, token, said }: RenewalStatement): boolean => {
    if (token === undefined || said.isReplaced) return false
    return statedAt >= Math.min(continuedAt(token), replaced.get(token) ?? never) || (said.gaveUp === true && replaced.has(token))
  }
  return statements
    .filter(statement => !isOfFormer(statement))
    .map(statement => ({ statement, at: timeOf(statement) }))
    .map(placed => ({ ...placed, period: begins.findLastIndex(begin => begin <= placed.at) }))
    .filter(({ period }) => period >= 0)
    .sort((a, b) => a.at - b.at || byWeight(a.statement, b.statement))
}

/** Auto-renew over one period. A store that gave up charging does not renew, whatever the switch says. */
function overPeriod(placed: Placed[]): AutoRenew {
  let isOn = true
  let gaveUpAt: number | null = null
  const changes: number[] = []
  for (const [i, { at }] of placed.entries()) {
    // Of what is stated at one instant the last word counts: an answer has the end of its second, and must not switch back what came in it.
    if (placed[i + 1]?.at === at) continue
    const said = placed.slice(0, i + 1).map(({ statement }) => statement)
    const hasGivenUp = lastSaid(said, 'gaveUp') ?? false
    gaveUpAt = hasGivenUp ? (gaveUpAt ?? at) : null
    const on = (lastSaid(said, 'autoRenews') ?? true) && !hasGivenUp
    if (on === isOn) continue
    changes.push(at)
    isOn = on
  }
  return { isOn, changes, gaveUpAt }
}

/**
 * Auto-renew of each subscription period of a lineage: on at its begin, then as stated, until the next one begins. A period that the store calls
 * a renewal proves that auto-renew was on at the end of the one before. What callers said counts as long as the store says nothing.
 */
export function autoRenewOf(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): AutoRenew[] {
  const ofStore = statements.filter(({ origin }) => origin !== 'caller')
  const placed = Map.groupBy(place(periods, ofStore.length > 0 ? ofStore : statements), ({ period }) => period)
  return periods.map((period, i) => {
    const own = overPeriod(placed.get(i) ?? [])
    const { isOn, changes } = own
    const next = periods[i + 1]
    if (isOn || next?.isRenewal !== true) return own
    const end = Math.min(parseTime(period.ends) ?? never, Date.parse(next.begins))
    return { isOn: true, changes: [...changes, Math.max(end, changes.at(-1)!)], gaveUpAt: null }
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

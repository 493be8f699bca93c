import { byWeight, type Tied } from './order.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

const never = Number.POSITIVE_INFINITY

/** A statement about the lineage, with the index of the period in which it counts; `at` in ms. */
export type Placed = { at: number; period: number; statement: Tied<RenewalStatement> }

/**
 * Assigns each statement to the period that had begun last. A statement that names a period of the lineage does not count before that
 * period begins, nor after the first period of a later purchase token begins: Google may answer about an expired token that a new token has
 * continued. A statement about a token does not count either if another token had continued it by then: Google reports the end of the
 * former token, and often late.
 */
export function place(periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): Placed[] {
  const begins = periods.map(period => Date.parse(period.begins))
  const indexOf = new Map(periods.flatMap(({ subject, aliases = [] }, i) => [subject, ...aliases].map(name => [name, i] as const)))
  const lastOf = new Map(periods.map(({ ids }, i) => [ids.token, i]))
  const replaced = new Map(
    statements.flatMap(({ token, statedAt, reported }) => (token !== undefined && reported.isReplaced ? [[token, statedAt] as const] : [])),
  )
  const continuedAt = (token: string | null): number => {
    const last = token === null ? undefined : lastOf.get(token)
    return last === undefined ? never : (begins[last + 1] ?? never)
  }
  const timeOf = ({ statedAt, subject, token, reported }: RenewalStatement): number => {
    if (reported.isReplaced) return Math.min(statedAt, continuedAt(token ?? null) - 1)
    const named = indexOf.get(subject)
    if (named === undefined) return statedAt
    return Math.min(Math.max(statedAt, begins[named]!), continuedAt(periods[named]!.ids.token) - 1)
  }
  const isOfFormer = ({ statedAt, token, reported }: RenewalStatement): boolean => {
    if (token === undefined || reported.isReplaced) return false
    return statedAt >= Math.min(continuedAt(token), replaced.get(token) ?? never) || (reported.gaveUp === true && replaced.has(token))
  }
  return statements
    .filter(statement => !isOfFormer(statement))
    .map(statement => ({ statement, at: timeOf(statement) }))
    .map(placed => ({ ...placed, period: begins.findLastIndex(begin => begin <= placed.at) }))
    .filter(({ period }) => period >= 0)
    .sort((a, b) => a.at - b.at || byWeight(a.statement, b.statement))
}

type Reported = RenewalStatement['reported']

/**
 * The statements of one field in each period, in order; of several at one instant only the last one. The statements of callers count as
 * long as the store states nothing of the field.
 */
export function statedInPeriods<F extends keyof Reported>(
  periods: RecordablePeriod[],
  statements: Tied<RenewalStatement>[],
  field: F,
): { at: number; value: Exclude<Reported[F], undefined> }[][] {
  const concerned = statements.filter(({ reported }) => reported[field] !== undefined || reported.isReplaced)
  const all = place(periods, concerned).filter(({ statement: { reported } }) => reported[field] !== undefined)
  const ofStore = all.filter(({ statement: { origin } }) => origin !== 'caller')
  const byPeriod = Map.groupBy(ofStore.length > 0 ? ofStore : all, ({ period }) => period)
  return periods.map((_, i) => {
    const placed = byPeriod.get(i) ?? []
    return placed.flatMap(({ at, statement }, n) =>
      placed[n + 1]?.at === at ? [] : [{ at, value: statement.reported[field] as Exclude<Reported[F], undefined> }],
    )
  })
}

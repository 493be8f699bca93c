import type { Environment } from '../../../kernel/environment.ts'
import { MEASURES } from '../charts/measure.ts'
import type { Quotient } from '../charts/rounding.ts'
import { type LeftOutMoney, unconvertedOf } from '../charts/unconverted.ts'
import type { FactAccess } from '../open-source.ts'
import { type NumberChange, otherCauses } from './causes.ts'
import { withNumber } from './context.ts'
import { factRows } from './fact-rows.ts'
import type { RequestedNumber, SegmentValues } from './number.ts'
import { factsAfter, type NumberFact } from './page.ts'
import { type NumberSums, sumsOfNumber } from './sums.ts'
import { statementOnViews } from './views-statement.ts'

/** A fact is late when it was recorded longer than this after its window. */
const LATE_AFTER = 86_400
/** Late facts that an explanation shows. */
const MOST_LATE = 20

/** `changes`: since a day after the window, the latest first. `value`: not rounded. `lateFacts`: the latest of those that were recorded later than a day after the window. `sql`: as `statementOnViews` has it. */
export type Explanation = Omit<NumberSums, 'late'> & {
  changes: NumberChange[]
  changesKnownSince: number
  value: Quotient
  symbols: readonly string[]
  unconverted: LeftOutMoney[]
  lateFacts: NumberFact[]
  segment: SegmentValues | null
  sql: string
  asOf: number
  behind: number
}

/** Explains the data that a number is computed from. Throws `upstream_timeout` after 30 s. */
export const explained = (access: FactAccess, environment: Environment, requested: RequestedNumber): Promise<Explanation> =>
  withNumber(access, environment, requested, async ({ context, segment, behind }) => {
    const { chart, window, series } = requested
    const all = await factRows(context, requested)
    const lateFrom = window.to + LATE_AFTER
    const sums = await sumsOfNumber(access.pool, context, requested, all, lateFrom)
    const late =
      sums.late.length === 0
        ? []
        : (await factsAfter(context, environment, requested, all, { limit: MOST_LATE, recordedFrom: lateFrom })).facts
    const { late: byDay, ...found } = sums
    const others = await otherCauses(access.pool, context, environment, requested, lateFrom)
    const changes = [...byDay.map((one): NumberChange => ({ ...one, cause: 'late_facts' })), ...others.changes]
    return {
      ...found,
      changes: changes.sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? 1 : -1)),
      changesKnownSince: others.knownSince,
      value: quotientOf(requested, sums),
      symbols: series === null ? chart.symbols : [chart.symbols[series]!],
      unconverted:
        chart.measure === 'usd' && all.length > 0
          ? await unconvertedOf(context, { code: MEASURES[chart.code].scans[0]!, kind: chart.kind, window })
          : [],
      lateFacts: late,
      segment,
      sql: await statementOnViews(access, environment, requested, { segment, now: context.now }),
      asOf: context.source.asOf,
      behind,
    }
  })

/** A percentage is a quotient of counts. */
function quotientOf({ chart }: RequestedNumber, { numerator, denominator }: NumberSums): Quotient {
  if (denominator === null) return numerator
  const scale = chart.measure === 'percent' ? 100n : 1n
  return { top: numerator.top * scale, bottom: numerator.bottom * denominator.top }
}

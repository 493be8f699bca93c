import type { ColumnAttribute } from '../attributes.ts'
import type { Frame } from './frame.ts'
import { type FigureLine, type LinePlan, linesOf } from './lines.ts'
import { compareSizes, type Quotient } from './rounding.ts'
import type { ScanContext } from './scan-rows.ts'
import { dividedByValue, dividedIntoSeries } from './values.ts'

/** The series of the values that have none of their own. */
export const OTHER_LABEL = 'Other'

export type LabelledLine = { label: string; line: FigureLine }

/** The two windows without their buckets. */
const coarse = ({ window, before, buckets }: Frame): Frame => ({
  ...{ window, before, lead: 1, previous: [before.from] },
  buckets: buckets.length === 0 ? [] : [window.from],
  grid: { starts: [before.from, window.from], end: window.to },
})

const isZero = ({ top }: Quotient): boolean => top === 0n

const isBlank = ({ total, totalPrev, data, dataPrev, weights }: FigureLine): boolean =>
  [total, totalPrev, ...data, ...dataPrev].every(isZero) && (weights === null || (weights.total === 0n && weights.totalPrev === 0n))

/** Every value that occurs in the window or in the one before, the largest total first, then by label. */
async function listed(context: ScanContext, plan: LinePlan, whole: readonly number[], attribute: ColumnAttribute) {
  const values = dividedByValue(context, attribute, plan.measure)
  // Monthly amounts go up and down: they may be the same at both ends of the window.
  const isOfStates = plan.scans.some(scan => scan === 'monthly' || scan.startsWith('standing'))
  const lines = await linesOf(context, isOfStates ? plan : { ...plan, frame: coarse(plan.frame) }, [whole], values.divide)
  const found = [...lines.numbers].flatMap(number => {
    const line = lines.of(number)[0]!
    const occurs = !isBlank(line) || (plan.kind === 'flow' && lines.hasTerms(number)) || lines.leftOut(number).some(count => count !== 0n)
    return occurs ? [{ number, total: line.total }] : []
  })
  const names = await values.named(found.map(({ number }) => number))
  return found
    .map(({ number, total }) => ({ ...names.get(number)!, total }))
    .sort((a, b) => compareSizes(b.total, a.total) || (a.label < b.label ? -1 : 1))
}

/** The values that have a series of their own, in the order of the series; `isMore`: there are others. */
export async function valuesShown(
  context: ScanContext,
  plan: LinePlan,
  whole: readonly number[],
  { attribute, maxSeries }: { attribute: ColumnAttribute; maxSeries: number },
): Promise<{ shown: { code: string; label: string }[]; isMore: boolean }> {
  const all = await listed(context, plan, whole, attribute)
  return { shown: all.slice(0, maxSeries), isMore: all.length > maxSeries }
}

/** One line for each of the values with the largest totals; the other values together are the last one, `Other`. */
export async function segmentedLines(
  context: ScanContext,
  plan: LinePlan,
  whole: readonly number[],
  { attribute, maxSeries }: { attribute: ColumnAttribute; maxSeries: number },
): Promise<LabelledLine[]> {
  if (maxSeries === 0) return []
  const { shown, isMore } = await valuesShown(context, plan, whole, { attribute, maxSeries })
  const divide = await dividedIntoSeries(
    context,
    attribute,
    plan.measure,
    shown.map(({ code }) => code),
  )
  const lines = await linesOf(context, plan, [whole], divide)
  const series = shown.map(({ label }, i) => ({ label, line: lines.of(i + 1)[0]! }))
  return isMore ? [...series, { label: OTHER_LABEL, line: lines.of(0)[0]! }] : series
}

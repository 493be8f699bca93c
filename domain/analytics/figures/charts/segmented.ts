import type { ColumnAttribute } from '../attributes.ts'
import type { Frame } from './frame.ts'
import { type FigureLine, isAdditive, type LinePlan, type Lines, linesOf } from './lines.ts'
import { compareSizes, type Quotient } from './rounding.ts'
import type { ScanContext } from './scan-rows.ts'
import { TooManySums } from './tally.ts'
import { dividedByValue, dividedIntoSeries, type Values } from './values.ts'

/** The series of the values that have none of their own. */
export const OTHER_LABEL = 'Other'

/** The series of all values together. */
export const WHOLE_LABEL = 'Total'

export type LabelledLine = { label: string; line: FigureLine }

/** The two windows without their buckets. */
const coarse = ({ window, before, buckets }: Frame): Frame => ({
  ...{ window, before, lead: 1, previous: [{ ...before, isCut: false }] },
  buckets: buckets.length === 0 ? [] : [{ ...window, isCut: false }],
  grid: { starts: [before.from, window.from], end: window.to },
})

const isZero = ({ top }: Quotient): boolean => top === 0n

const isBlank = ({ total, totalPrev, data, dataPrev, weights }: FigureLine): boolean =>
  [total, totalPrev, ...data, ...dataPrev].every(isZero) && (weights === null || (weights.total === 0n && weights.totalPrev === 0n))

type Occurring = { numbers: number[]; code: string; label: string; total: Quotient }

/** The values that occur in the window or in the one before, the largest total first, then by label. Several numbers may be of one value. */
async function occurring(lines: Lines, plan: LinePlan, values: Values): Promise<Occurring[]> {
  const found = [...lines.numbers].filter(number => {
    const hasTerms = plan.kind === 'flow' && lines.hasTerms([number])
    return hasTerms || !isBlank(lines.of([number])[0]!) || lines.leftOut([number]).some(count => count !== 0n)
  })
  const names = await values.named(found)
  return [...Map.groupBy(found, number => names.get(number)!.code).values()]
    .map(numbers => ({ numbers, ...names.get(numbers[0]!)!, total: lines.of(numbers)[0]!.total }))
    .sort((a, b) => compareSizes(b.total, a.total) || (a.label < b.label ? -1 : 1))
}

type Segmentation = { attribute: ColumnAttribute; maxSeries: number }

/** The values that have a series of their own, in the order of the series; `isMore`: there are others. */
export async function valuesShown(
  context: ScanContext,
  plan: LinePlan,
  whole: readonly number[],
  { attribute, maxSeries }: Segmentation,
): Promise<{ shown: { code: string; label: string }[]; isMore: boolean }> {
  const values = dividedByValue(context, attribute, plan.measure)
  // Monthly amounts go up and down: they may be the same at both ends of the window.
  const isOfStates = plan.scans.some(scan => scan === 'monthly' || scan.startsWith('standing'))
  const lines = await linesOf(context, isOfStates ? plan : { ...plan, frame: coarse(plan.frame), complete: null }, [whole], values.divide)
  const all = await occurring(lines, plan, values)
  return { shown: all.slice(0, maxSeries), isMore: all.length > maxSeries }
}

/** Series of values. `whole`, `leftOut`: of all values together, where they are known. */
export type SegmentedLines = { series: LabelledLine[]; whole: FigureLine | null; leftOut: bigint[] | null }

/** Values times intervals that are held in memory; more take a second pass. */
const MOST_SUMS = 100_000

/** From one pass over the facts, which sums every value in every interval. Null: there are too many. */
async function atOnce(
  context: ScanContext,
  plan: LinePlan,
  whole: readonly number[],
  { attribute, maxSeries }: Segmentation,
): Promise<SegmentedLines | null> {
  if (!isAdditive(plan.measure)) return null
  const values = dividedByValue(context, attribute, plan.measure)
  try {
    const lines = await linesOf(context, { ...plan, most: MOST_SUMS }, [whole], values.divide)
    const all = await occurring(lines, plan, values)
    const shown = all.slice(0, maxSeries)
    const rest = all.slice(maxSeries).flatMap(({ numbers }) => numbers)
    const series = shown.map(({ label, numbers }) => ({ label, line: lines.of(numbers)[0]! }))
    const everything = [...lines.numbers]
    return {
      series: rest.length > 0 ? [...series, { label: OTHER_LABEL, line: lines.of(rest)[0]! }] : series,
      whole: lines.of(everything)[0]!,
      leftOut: lines.leftOut(everything),
    }
  } catch (error) {
    if (error instanceof TooManySums) return null
    throw error
  }
}

/** One line for each of the values with the largest totals; the other values together are the last one, `Other`. */
export async function segmentedLines(
  context: ScanContext,
  plan: LinePlan,
  whole: readonly number[],
  { attribute, maxSeries }: Segmentation,
): Promise<SegmentedLines> {
  const unknown = { whole: null, leftOut: null }
  if (maxSeries === 0) return { series: [], ...unknown }
  const found = await atOnce(context, plan, whole, { attribute, maxSeries })
  if (found) return found
  const { shown, isMore } = await valuesShown(context, plan, whole, { attribute, maxSeries })
  const divide = await dividedIntoSeries(
    context,
    attribute,
    plan.measure,
    shown.map(({ code }) => code),
  )
  const lines = await linesOf(context, plan, [whole], divide)
  const series = shown.map(({ label }, i) => ({ label, line: lines.of([i + 1])[0]! }))
  return { series: isMore ? [...series, { label: OTHER_LABEL, line: lines.of([0])[0]! }] : series, ...unknown }
}

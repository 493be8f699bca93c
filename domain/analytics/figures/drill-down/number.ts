import { type Detail, invalidFields } from '../../../kernel/refusal.ts'
import type { AttributeCode } from '../attributes.ts'
import { bucketsOf, type TimeWindow } from '../buckets.ts'
import type { ChartOf } from '../chart-table.ts'
import { MEASURES } from '../charts/measure.ts'
import { WHOLE_LABEL } from '../charts/segmented.ts'
import { type CommonQuery, type FigureQuestion, type QueryContext, type QuestionRules, readQuestion } from '../question.ts'

/** The parameters of a chart, and which of its numbers is meant. */
export type NumberQuery = CommonQuery & { start_time?: number | undefined; series?: string | undefined; segment?: string | undefined }

/**
 * One number of a chart. `window`: of the bucket, or that of the question for the total. `series`: the index of an unsegmented series; null: the
 * whole. `segment`: the label or code of one of the values by which the question segments; null: all of them.
 */
export type RequestedNumber = {
  chart: ChartOf
  question: FigureQuestion
  window: TimeWindow
  series: number | null
  segment: string | null
}

/** The values of a segmentation that belong to the number: one, or all that are not shown (`isRest`). */
export type SegmentValues = { code: AttributeCode; values: string[]; isRest: boolean }

/** Series that are no parts of anything have no whole. */
const hasWhole = ({ series, summary }: ChartOf): boolean => series.length === 1 || summary !== null

function requestedSeries(chart: ChartOf, label: string | undefined, isSegmented: boolean): { series: number | null; faults: Detail[] } {
  // A segmented chart shows its whole as a series, too.
  const isWhole = label === undefined ? hasWhole(chart) : label === chart.summary || (isSegmented && label === WHOLE_LABEL)
  if (isWhole) return { series: null, faults: [] }
  const series = label === undefined ? -1 : chart.series.indexOf(label)
  const faults = series < 0 ? [{ field: 'series', message: `must be one of ${chart.series.join(', ')}` }] : []
  return { series, faults }
}

function requestedBucket({ window, unit, zone }: FigureQuestion, start: number | undefined): TimeWindow | null {
  if (start === undefined) return window
  const found = bucketsOf(window, unit, zone).find(({ from }) => from === start)
  return found ? { from: found.from, to: found.to } : null
}

/** The number that a query means. Throws `invalid_data` with every fault. */
export function readNumber(query: NumberQuery, chart: ChartOf, rules: QuestionRules, context: QueryContext): RequestedNumber {
  const question = readQuestion(query, rules, context)
  const { series, faults } = requestedSeries(chart, query.series, question.segmentation !== null)
  const window = requestedBucket(question, query.start_time)
  if (window === null) faults.push({ field: 'start_time', message: 'must be the start of a bucket of the chart' })
  if (query.segment !== undefined && question.segmentation === null) faults.push({ field: 'segment', message: 'needs segmentation' })
  if (window === null || faults.length > 0) throw invalidFields(faults)
  const ofValues = question.segmentation === null ? null : chart.ofValues
  return { chart, question, window, series: series ?? ofValues, segment: query.segment ?? null }
}

/** The coefficients of the number's terms. */
export function coefficientsOf({ chart, series }: Pick<RequestedNumber, 'chart' | 'series'>): readonly number[] {
  const rows: readonly (readonly number[])[] = MEASURES[chart.code].series
  return series === null ? rows[0]!.map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0)) : rows[series]!
}

import type { Bucket } from '../buckets.ts'
import { type ChartMeasure, type ChartOf, TOTAL_TYPE } from '../chart-table.ts'
import type { FigureQuestion } from '../question.ts'
import type { ChartFigures } from './chart.ts'
import type { FigureLine } from './lines.ts'
import { type Quotient, roundedFigure } from './rounding.ts'
import type { LabelledLine } from './segmented.ts'
import type { LeftOutMoney } from './unconverted.ts'

/** Decimals of money and percentages. */
const PLACES = 2

export const decimalsOf = (measure: ChartMeasure): number => (measure === 'count' ? 0 : PLACES)

/** The optional part of an answer with money: only where an amount could not be converted. */
export const unconverted = (rows: LeftOutMoney[]) =>
  rows.length > 0 && {
    unconverted: rows.map(({ currency, transactions, amount, refunds, refunded }) => ({
      currency,
      transactions,
      amount: roundedFigure(amount, PLACES),
      ...(refunds > 0 && { refunds, refunded_amount: roundedFigure(refunded, PLACES) }),
    })),
  }

/** The times of the shown values. `previous`: empty unless requested. */
type Shown = Pick<ChartFigures, 'buckets' | 'previous' | 'completeTo'> & { now: number; places: number; withPrevious: boolean }

/** Absent where the chart follows no outcomes. */
function complete({ complete: part }: FigureLine, { completeTo, places }: Pick<Shown, 'completeTo' | 'places'>) {
  if (part === null || completeTo === null) return {}
  const [total, totalPrev] = [part.total, part.totalPrev].map(value => roundedFigure(value, places)) as [number, number]
  return { complete: { to: completeTo, total, totalPrev } }
}

/** A series in the answer. */
function series({ label, line }: LabelledLine, shown: Shown) {
  const figure = (value: Quotient) => roundedFigure(value, shown.places)
  const points = (values: Quotient[], buckets: readonly Bucket[]) =>
    values.map((value, i) => {
      const { from, to, isCut } = buckets[i]!
      return { start_time: from, end_time: to, value: figure(value), partial: isCut || shown.now < to }
    })
  return {
    label,
    total: figure(line.total),
    totalPrev: figure(line.totalPrev),
    ...(line.weights && { totalWeight: Number(line.weights.total), totalPrevWeight: Number(line.weights.totalPrev) }),
    data: points(line.data, shown.buckets),
    ...(shown.withPrevious && { dataPrev: points(line.dataPrev, shown.previous) }),
    ...complete(line, shown),
  }
}

/** Parts of a whole, unless they are quotients: a value's share of an amount is one, its quotient is not. */
const relationOf = (chart: ChartOf, isSegmented: boolean) =>
  isSegmented ? (chart.kind === 'ratio' ? ('independent' as const) : ('partsOfWhole' as const)) : chart.relation

/** A chart as it was requested. `code`: as the caller wrote it, alias or not. */
export type AskedChart = { chart: ChartOf; code: string; own: 0 | 1; question: FigureQuestion }

/** The figures of a chart rounded, as the API and files show them. */
export function shownChart(figures: ChartFigures, { chart, code, own, question }: AskedChart) {
  const shown = { ...figures, now: question.now, places: decimalsOf(chart.measure), withPrevious: question.previous }
  return {
    code,
    from: question.window.from,
    to: question.window.to,
    unit: question.unit,
    environment: own,
    currency: question.currency,
    measure: chart.measure,
    totalType: TOTAL_TYPE[chart.kind],
    seriesRelation: relationOf(chart, question.segmentation !== null),
    maxSeries: question.maxSeries,
    horizontalLabelType: 'default' as const,
    series: figures.series.map(line => series(line, shown)),
    ...(question.segmentation && { segmentation: question.segmentation.code }),
    ...(figures.summary && { summarySeries: series(figures.summary, shown) }),
    ...unconverted(figures.unconverted),
    ...complete(figures.whole, shown),
    as_of: figures.asOf,
    ...(figures.behind > 0 && { behind: figures.behind }),
    incomplete_from: figures.incompleteFrom,
  }
}

export type ShownChart = ReturnType<typeof shownChart>

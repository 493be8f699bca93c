import { filtersOf, segmentationsOf } from '../../../domain/analytics/figures/attributes.ts'
import { type ChartMeasure, type ChartOf, chartOf, TOTAL_TYPE } from '../../../domain/analytics/figures/chart-table.ts'
import { today } from '../../../domain/analytics/figures/charts/card.ts'
import { type ChartFigures, chartFigures } from '../../../domain/analytics/figures/charts/chart.ts'
import type { FigureLine } from '../../../domain/analytics/figures/charts/lines.ts'
import { type Quotient, roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import type { LabelledLine } from '../../../domain/analytics/figures/charts/segmented.ts'
import { queryContext, readQuestion } from '../../../domain/analytics/figures/question.ts'
import { notFound } from '../../../domain/kernel/refusal.ts'
import { expensiveRead } from '../../operation.ts'
import { behindField, behindHeader } from '../../pagination.ts'
import { unconverted } from './unconverted.ts'

/** Decimals of money and percentages. */
const PLACES = 2

export const decimalsOf = (measure: ChartMeasure): number => (measure === 'count' ? 0 : PLACES)

/** The times of the shown values. `previousStarts`: empty unless requested. */
type Shown = Pick<ChartFigures, 'starts' | 'previousStarts' | 'completeTo'> & { places: number; withPrevious: boolean }

/** Absent where the chart follows no outcomes. */
function complete({ complete: part }: FigureLine, { completeTo, places }: Pick<Shown, 'completeTo' | 'places'>) {
  if (part === null || completeTo === null) return {}
  const [total, totalPrev] = [part.total, part.totalPrev].map(value => roundedFigure(value, places)) as [number, number]
  return { complete: { to: completeTo, total, totalPrev } }
}

/** A series in the answer. */
function series({ label, line }: LabelledLine, shown: Shown) {
  const figure = (value: Quotient) => roundedFigure(value, shown.places)
  const points = (values: Quotient[], starts: number[]) => values.map((value, i) => ({ start_time: starts[i]!, value: figure(value) }))
  return {
    label,
    total: figure(line.total),
    totalPrev: figure(line.totalPrev),
    ...(line.weights && { totalWeight: Number(line.weights.total), totalPrevWeight: Number(line.weights.totalPrev) }),
    data: points(line.data, shown.starts),
    ...(shown.withPrevious && { dataPrev: points(line.dataPrev, shown.previousStarts) }),
    ...complete(line, shown),
  }
}

/** Parts of a whole, unless they are quotients: a value's share of an amount is one, its quotient is not. */
const relationOf = (chart: ChartOf, isSegmented: boolean) =>
  isSegmented ? (chart.kind === 'ratio' ? ('independent' as const) : ('partsOfWhole' as const)) : chart.relation

export const v4GetAnalyticsChart = expensiveRead(
  'v4GetAnalyticsChart',
  async ({ path, query, environment, environmentKind, db, deps: { facts } }) => {
    const chart = chartOf(path.chart_code)
    if (!chart) throw notFound('chart')
    const own = environmentKind === 'production' ? 1 : 0
    const rules = { filters: filtersOf(chart), segmentations: segmentationsOf(chart), own } as const
    const question = readQuestion(query, rules, await queryContext(db, environment, query.currency))
    const figures = await chartFigures(facts, environment, chart, question)
    const shown = { ...figures, places: decimalsOf(chart.measure), withPrevious: question.previous }
    return {
      body: {
        object: 'analytics_chart' as const,
        url: `/v4/analytics/charts/${path.chart_code}`,
        code: path.chart_code,
        from: question.window.from,
        to: question.window.to,
        unit: question.unit,
        environment: own as 0 | 1,
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
        ...behindField(figures.behind),
        incomplete_from: figures.incompleteFrom,
      },
    }
  },
)

const CARD = [
  { code: 'trials_count', of: 'trials', places: 0 },
  { code: 'subscriptions_count', of: 'subscriptions', places: 0 },
  { code: 'inapp_count', of: 'oneTime', places: 0 },
  { code: 'tracked_revenue', of: 'revenue', places: PLACES },
] as const

/** The attributes by which the card can be filtered: those of sales. */
const SALES = chartOf('sales')!

export const v4GetAnalyticsCard = expensiveRead(
  'v4GetAnalyticsCard',
  async ({ path, query, environment, environmentKind, db, deps: { facts } }) => {
    if (path.card_code !== 'realtime') throw notFound('card')
    const own = environmentKind === 'production' ? 1 : 0
    const rules = { filters: filtersOf(SALES), segmentations: segmentationsOf(SALES), own } as const
    const question = readQuestion(query, rules, await queryContext(db, environment, query.currency))
    const figures = await today(facts, environment, question)
    return {
      body: CARD.map(({ code, of, places }) => ({
        code,
        value: roundedFigure(figures[of].value, places),
        valuePrev: roundedFigure(figures[of].before, places),
      })),
      headers: behindHeader(figures.behind),
    }
  },
)

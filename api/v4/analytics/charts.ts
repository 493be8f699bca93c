import { rulesOf } from '../../../domain/analytics/figures/attributes.ts'
import type { Bucket } from '../../../domain/analytics/figures/buckets.ts'
import { type ChartMeasure, type ChartOf, chartOf, TOTAL_TYPE } from '../../../domain/analytics/figures/chart-table.ts'
import { today } from '../../../domain/analytics/figures/charts/card.ts'
import { type ChartFigures, chartFigures, chartsFigures } from '../../../domain/analytics/figures/charts/chart.ts'
import type { FigureLine } from '../../../domain/analytics/figures/charts/lines.ts'
import { type Quotient, roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import type { LabelledLine } from '../../../domain/analytics/figures/charts/segmented.ts'
import { readChartsQuestion } from '../../../domain/analytics/figures/charts/several.ts'
import { type FigureQuestion, queryContext, readQuestion } from '../../../domain/analytics/figures/question.ts'
import { notFound } from '../../../domain/kernel/refusal.ts'
import { expensiveRead } from '../../operation.ts'
import { behindField, behindHeader, fullList } from '../../pagination.ts'
import { unconverted } from './unconverted.ts'

/** Decimals of money and percentages. */
const PLACES = 2

export const decimalsOf = (measure: ChartMeasure): number => (measure === 'count' ? 0 : PLACES)

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
type Requested = { chart: ChartOf; code: string; own: 0 | 1; question: FigureQuestion }

function answered(figures: ChartFigures, { chart, code, own, question }: Requested) {
  const shown = { ...figures, now: question.now, places: decimalsOf(chart.measure), withPrevious: question.previous }
  return {
    object: 'analytics_chart' as const,
    url: `/v4/analytics/charts/${code}`,
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
    ...behindField(figures.behind),
    incomplete_from: figures.incompleteFrom,
  }
}

const NUMBER = { sandbox: 0, production: 1 } as const

export const v4GetAnalyticsChart = expensiveRead(
  'v4GetAnalyticsChart',
  async ({ path: { chart_code: code }, query, environment, environmentKind, db, deps: { facts } }) => {
    const chart = chartOf(code)
    if (!chart) throw notFound('chart')
    const own = NUMBER[environmentKind]
    const question = readQuestion(query, { ...rulesOf(chart), own }, await queryContext(db, environment, query.currency))
    return { body: answered(await chartFigures(facts, environment, chart, question), { chart, code, own, question }) }
  },
)

export const v4ListAnalyticsCharts = expensiveRead(
  'v4ListAnalyticsCharts',
  async ({ query, environment, environmentKind, db, deps: { facts } }) => {
    const own = NUMBER[environmentKind]
    const { question, charts, leftOut } = readChartsQuestion(query, own, await queryContext(db, environment, query.currency))
    const figures = await chartsFigures(
      facts,
      environment,
      charts.map(({ chart }) => chart),
      question,
    )
    return {
      body: {
        ...fullList(
          '/v4/analytics/charts',
          charts.map((one, i) => answered(figures[i]!, { ...one, own, question })),
        ),
        ...(leftOut.length > 0 && { left_out: leftOut }),
      },
      headers: behindHeader(figures[0]?.behind ?? 0),
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
    const rules = { ...rulesOf(SALES), own: NUMBER[environmentKind] }
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

import { rulesOf } from '../../../domain/analytics/figures/attributes.ts'
import { chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { type AskedChart, decimalsOf, shownChart } from '../../../domain/analytics/figures/charts/answer.ts'
import { today } from '../../../domain/analytics/figures/charts/card.ts'
import { type ChartFigures, chartFigures, chartsFigures } from '../../../domain/analytics/figures/charts/chart.ts'
import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import { readChartsQuestion } from '../../../domain/analytics/figures/charts/several.ts'
import { queryContext, readQuestion } from '../../../domain/analytics/figures/question.ts'
import { notFound } from '../../../domain/kernel/refusal.ts'
import { figuresRead } from '../../operation.ts'
import { behindHeader, fullList } from '../../pagination.ts'

const answered = (figures: ChartFigures, asked: AskedChart) => ({
  object: 'analytics_chart' as const,
  url: `/v4/analytics/charts/${asked.code}`,
  ...shownChart(figures, asked),
})

const NUMBER = { sandbox: 0, production: 1 } as const

export const v4GetAnalyticsChart = figuresRead(
  'v4GetAnalyticsChart',
  async ({ path: { chart_code: code }, query, environment, environmentKind, db, facts }) => {
    const chart = chartOf(code)
    if (!chart) throw notFound('chart')
    const own = NUMBER[environmentKind]
    const question = readQuestion(query, { ...rulesOf(chart), own }, await queryContext(db, environment, query.currency))
    return { body: answered(await chartFigures(facts, environment, chart, question), { chart, code, own, question }) }
  },
)

export const v4ListAnalyticsCharts = figuresRead('v4ListAnalyticsCharts', async ({ query, environment, environmentKind, db, facts }) => {
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
})

const CARD = [
  { code: 'trials_count', of: 'trials', places: 0 },
  { code: 'subscriptions_count', of: 'subscriptions', places: 0 },
  { code: 'inapp_count', of: 'oneTime', places: 0 },
  { code: 'tracked_revenue', of: 'revenue', places: decimalsOf('usd') },
] as const

/** The attributes by which the card can be filtered: those of sales. */
const SALES = chartOf('sales')!

export const v4GetAnalyticsCard = figuresRead('v4GetAnalyticsCard', async ({ path, query, environment, environmentKind, db, facts }) => {
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
})

import type { Bucket } from '../../../domain/analytics/figures/buckets.ts'
import { unconverted } from '../../../domain/analytics/figures/charts/answer.ts'
import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import { type CommonQuery, type FigureQuestion, queryContext, readQuestion } from '../../../domain/analytics/figures/question.ts'
import type { ScreenKpi } from '../../../domain/analytics/figures/screens/kpi.ts'
import { figuresOfScreen, screensOverview } from '../../../domain/analytics/figures/screens/screens.ts'
import { getScreenSummary } from '../../../domain/growth/screens/screen.ts'
import type { Pool } from '../../../store/connect.ts'
import { figuresRead } from '../../operation.ts'
import { behindField } from '../../pagination.ts'

const MONEY_PLACES = 2

/** Decimals of each figure: counts have none, fractions four. */
const PLACES = {
  views: 0,
  impressions: 0,
  trials: 0,
  purchases: 0,
  revenue: MONEY_PLACES,
  refunds: MONEY_PLACES,
  conversion: 4,
  conversion_rate: 4,
  cancel_rate: 4,
}

type ShownKpi = { value: number; prev: number; sparkline: number[] }

function shownKpis<Code extends keyof typeof PLACES>(kpis: Record<Code, ScreenKpi>): Record<Code, ShownKpi> {
  const shown = (Object.entries(kpis) as [Code, ScreenKpi][]).map(([code, { value, prev, sparkline }]) => {
    const places = PLACES[code]
    const kpi: ShownKpi = {
      value: roundedFigure(value, places),
      prev: roundedFigure(prev, places),
      sparkline: sparkline.map(one => roundedFigure(one, places)),
    }
    return [code, kpi]
  })
  return Object.fromEntries(shown) as Record<Code, ShownKpi>
}

/** The last bucket is cut by the end of the window, or by now. */
function period({ window, unit, now }: FigureQuestion, buckets: readonly Bucket[]) {
  const last = buckets.at(-1)
  const isPartial = last !== undefined && (last.isCut || now < last.to)
  return {
    ...{ from: window.from, to: window.to, unit, starts: buckets.map(({ from }) => from) },
    partial_from: isPartial ? last.from : null,
  }
}

type ScreenQuestion = {
  query: CommonQuery & { currency: string }
  environment: number
  environmentKind: 'production' | 'sandbox'
  db: Pool
}

async function questionOf({ query, environment, environmentKind, db }: ScreenQuestion): Promise<FigureQuestion> {
  const own = environmentKind === 'production' ? 1 : 0
  return readQuestion(query, { filters: [], segmentations: [], own }, await queryContext(db, environment, query.currency))
}

export const v4GetScreensAnalyticsOverview = figuresRead('v4GetScreensAnalyticsOverview', async call => {
  const question = await questionOf(call)
  const asked = call.query['screens[]']
  const figures = await screensOverview(call.facts, call.environment, question, asked)
  const screens = figures.screens.map(({ uid, kpis }) => ({ uid, kpis: shownKpis(kpis) }))
  return {
    body: {
      object: 'screens_analytics_overview' as const,
      url: '/v4/screens/analytics/overview',
      data: { kpis: shownKpis(figures.kpis), period: period(question, figures.buckets), ...(asked && { screens }) },
      as_of: figures.asOf,
      ...unconverted(figures.unconverted),
      ...behindField(figures.behind),
    },
  }
})

export const v4GetScreenAnalytics = figuresRead('v4GetScreenAnalytics', async call => {
  const { path, environment, db, facts } = call
  const { id, name, status, type } = await getScreenSummary(db, environment, path.screen_id)
  const question = await questionOf(call)
  const figures = await figuresOfScreen(facts, environment, question, id)
  return {
    body: {
      object: 'screen_analytics' as const,
      url: `/v4/screens/${id}/analytics`,
      data: { kpis: shownKpis(figures.kpis), period: period(question, figures.buckets), screen: { uid: id, name, status, type } },
      as_of: figures.asOf,
      ...unconverted(figures.unconverted),
      ...behindField(figures.behind),
    },
  }
})

import { rulesOf } from '../../../domain/analytics/figures/attributes.ts'
import { chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { decimalsOf, unconverted } from '../../../domain/analytics/figures/charts/answer.ts'
import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import { decimalText } from '../../../domain/analytics/figures/drill-down/decimals.ts'
import { explained } from '../../../domain/analytics/figures/drill-down/explanation.ts'
import { factsOfNumber } from '../../../domain/analytics/figures/drill-down/list.ts'
import { type NumberQuery, type RequestedNumber, readNumber } from '../../../domain/analytics/figures/drill-down/number.ts'
import type { NumberFact } from '../../../domain/analytics/figures/drill-down/page.ts'
import type { CurrencySum } from '../../../domain/analytics/figures/drill-down/sums.ts'
import { queryContext } from '../../../domain/analytics/figures/question.ts'
import { notFound } from '../../../domain/kernel/refusal.ts'
import { apiTime, type Db } from '../../../store/connect.ts'
import { figuresRead } from '../../operation.ts'
import { behindField, behindHeader, cursorPage, restartedHeader } from '../../pagination.ts'

/** Amounts have at most six decimals. */
const AMOUNT_PLACES = 6

type Caller = { environment: number; environmentKind: 'production' | 'sandbox'; db: Db }

async function requestedNumber(code: string, query: NumberQuery, { environment, environmentKind, db }: Caller): Promise<RequestedNumber> {
  const chart = chartOf(code)
  if (!chart) throw notFound('chart')
  const own = environmentKind === 'production' ? 1 : 0
  const rules = { ...rulesOf(chart), own } as const
  return readNumber(query, chart, rules, await queryContext(db, environment, query.currency ?? 'USD'))
}

const time = (seconds: number) => apiTime(new Date(seconds * 1000).toISOString())

const fact = (one: NumberFact) => ({
  object: 'analytics_fact' as const,
  id: one.id,
  role: one.role,
  kind: one.kind,
  cause: one.cause,
  happened_at: time(one.happened),
  recorded_at: time(one.recorded),
  customer_uid: one.user,
  product_id: one.product,
  target_platform: one.platform,
  country: one.country,
  currency: one.currency,
  amount: one.amount && roundedFigure(one.amount, AMOUNT_PLACES),
  contribution: decimalText(one.contribution),
  purchase_id: one.purchase,
  event_id: one.event,
})

export const v4ListAnalyticsChartFacts = figuresRead('v4ListAnalyticsChartFacts', async ({ path, query, facts: access, ...caller }) => {
  const { limit, starting_after: after, recorded_from: recordedFrom } = query
  const requested = await requestedNumber(path.chart_code, query, caller)
  const { facts, restarted, behind } = await factsOfNumber(access, caller.environment, requested, { limit, after, recordedFrom })
  const url = `/v4/analytics/charts/${path.chart_code}/facts`
  return { body: cursorPage({ url, rows: facts, limit, item: fact }), headers: { ...restartedHeader(restarted), ...behindHeader(behind) } }
})

const currency = ({ currency: code, amount, converted, first, last }: CurrencySum) => ({
  currency: code,
  amount: roundedFigure(amount, AMOUNT_PLACES),
  converted: decimalText(converted),
  first_rate: first,
  last_rate: last,
})

/** The parameters for which the statement was made, by name. */
const parameters = ({ question, window }: RequestedNumber) => ({
  from: window.from,
  to: window.to,
  now: question.now,
  currency: question.currency,
  rate_date: question.rateDate,
  timezone: question.zone,
  filters: Object.fromEntries([...question.filters].map(([code, values]) => [code, [...values]])),
})

export const v4ExplainAnalyticsChart = figuresRead('v4ExplainAnalyticsChart', async ({ path, query, facts: access, ...caller }) => {
  const requested = await requestedNumber(path.chart_code, query, caller)
  const found = await explained(access, caller.environment, requested)
  const { chart, question, series } = requested
  return {
    body: {
      object: 'analytics_explanation' as const,
      url: `/v4/analytics/charts/${path.chart_code}/explain`,
      code: path.chart_code,
      series: series === null ? null : chart.series[series]!,
      segmentation: found.segment && question.segmentation!.code,
      segment: requested.segment,
      measure: chart.measure,
      currency: question.currency,
      formula: { words: chart.description, symbols: [...found.symbols] },
      value: roundedFigure(found.value, decimalsOf(chart.measure)),
      numerator: decimalText(found.numerator),
      denominator: found.denominator && decimalText(found.denominator),
      facts: found.facts.map(one => ({ ...one, contribution: decimalText(one.contribution) })),
      currencies: found.currencies.map(currency),
      ...unconverted(found.unconverted),
      changed_since: found.changes.map(one => ({ ...one, contribution: one.contribution && decimalText(one.contribution) })),
      changes_known_since: found.changesKnownSince,
      late_facts: found.lateFacts.map(fact),
      sql: found.sql,
      parameters: parameters(requested),
      as_of: found.asOf,
      ...behindField(found.behind),
    },
  }
})

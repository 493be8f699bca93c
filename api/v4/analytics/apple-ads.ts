import { listCurrencies } from '../../../domain/analytics/figures/currencies.ts'
import { environmentFaults, windowFaults } from '../../../domain/analytics/figures/question.ts'
import { getConnection } from '../../../domain/integrations/apple-ads/connection.ts'
import { appleAdsReport } from '../../../domain/integrations/apple-ads/report.ts'
import { appleAdsSeries } from '../../../domain/integrations/apple-ads/series.ts'
import { countUse } from '../../../domain/integrations/apple-ads/uses.ts'
import { DAY, type Days, type WindowCode } from '../../../domain/integrations/apple-ads/windows.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { now } from '../../../domain/kernel/environment.ts'
import { invalidFields } from '../../../domain/kernel/refusal.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { Problem } from '../../errors.ts'
import { figuresRead } from '../../operation.ts'
import { behindField } from '../../pagination.ts'

type Asked = {
  query: { from: number; to: number; environment?: 0 | 1 | undefined; currency: string }
  project: number
  environment: number
  environmentKind: EnvironmentKind
  db: Pool
}

/** Checks what both figures have in common, counts the request, and widens the range to UTC days. */
async function begin({ query, project, environment, environmentKind, db }: Asked) {
  const faults = [...environmentFaults(query.environment, environmentKind === 'production' ? 1 : 0), ...windowFaults(query)]
  if (faults.length > 0) throw invalidFields(faults)
  const connection = await getConnection(db, environment)
  const wait = await transaction(db, tx => countUse(tx, project, 'report'))
  if (wait !== null)
    throw new Problem('rate_limit_exceeded', `30 reports of Apple Ads a minute; try again in ${wait} s`, {
      headers: { 'Retry-After': String(wait) },
    })
  const days: Days = { first: Math.floor(query.from / DAY), end: Math.ceil(query.to / DAY) }
  const hasRate = query.currency === 'USD' || (await listCurrencies(db)).includes(query.currency)
  return {
    connection,
    days,
    now: Math.floor(Date.parse(await now(db, environment)) / 1000),
    currency: hasRate ? query.currency : 'USD',
    rate_unavailable_for: hasRate ? null : query.currency,
  }
}

export const v4GetAppleAdsReport = figuresRead('v4GetAppleAdsReport', async call => {
  const { query, environment, facts } = call
  const { connection, days, currency, rate_unavailable_for, ...rest } = await begin(call)
  const { level, revenue_type, limit, offset } = query
  const report = await appleAdsReport(facts, environment, {
    integration: connection.number,
    now: rest.now,
    days,
    level,
    currency,
    revenue: revenue_type,
    windows: query.windows.split(',') as WindowCode[],
    countries: query['filter[country][]'] ?? null,
    campaigns: query['filter[campaign_id][]'] ?? null,
    statuses: query['filter[status][]'] ?? null,
    deliveries: query['filter[delivery][]'] ?? null,
    limit,
    offset,
  })
  const { rows, total, unallocated, totalRows, partial, behind } = report
  return {
    body: {
      object: 'analytics_apple_ads_report',
      url: '/v4/analytics/apple-ads/report',
      level,
      from: days.first * DAY,
      to: days.end * DAY,
      currency,
      revenue_type,
      rows,
      total,
      unallocated,
      pagination: { limit, offset, total_rows: totalRows, has_more: offset + rows.length < totalRows },
      partial_sources: partial,
      meta: {
        semantics: { revenue: 'cumulative_to_date', roas: 'ratio', avg_cpa: 'spend_per_install', cac: 'closed_spend_per_payer' },
        partial_scope: null,
        data_through: connection.data_through,
        rate_unavailable_for,
      },
      ...behindField(behind),
    } as AnswerBody<'v4GetAppleAdsReport'>,
  }
})

const IGNORED = ['filter[status][]', 'filter[delivery][]'] as const

export const v4GetAppleAdsSeries = figuresRead('v4GetAppleAdsSeries', async call => {
  const { query, environment, facts } = call
  const { connection, days, currency, rate_unavailable_for, ...rest } = await begin(call)
  const { points, coverage, truncated, behind } = await appleAdsSeries(facts, environment, {
    integration: connection.number,
    now: rest.now,
    days,
    metric: query.metric,
    currency,
    revenue: query.revenue_type,
    countries: query['filter[country][]'] ?? null,
    campaigns: query['filter[campaign_id][]'] ?? null,
  })
  return {
    body: {
      object: 'analytics_apple_ads_series' as const,
      url: '/v4/analytics/apple-ads/report/series' as const,
      metric: query.metric,
      from: days.first * DAY,
      to: days.end * DAY,
      currency,
      points,
      coverage,
      truncated,
      filters_ignored: IGNORED.filter(name => query[name] !== undefined),
      rate_unavailable_for,
      ...behindField(behind),
    },
  }
})

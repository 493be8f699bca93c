import { insights } from '../../../domain/analytics/figures/insights/insights.ts'
import { environmentFaults, queryContext } from '../../../domain/analytics/figures/question.ts'
import { invalidFields } from '../../../domain/kernel/refusal.ts'
import { figuresRead } from '../../operation.ts'
import { behindField } from '../../pagination.ts'

export const v4GetAnalyticsInsights = figuresRead('v4GetAnalyticsInsights', async ({ query, environment, environmentKind, db, facts }) => {
  const faults = environmentFaults(query.environment, environmentKind === 'production' ? 1 : 0)
  if (faults.length > 0) throw invalidFields(faults)
  const { now } = await queryContext(db, environment, 'USD')
  const { period: days, force, cached_only: cachedOnly } = query
  const { generatedAt, isCached, isStale, ...result } = await insights(facts, environment, { days, force, cachedOnly, now })
  return {
    body: {
      object: 'analytics_insights' as const,
      url: '/v4/analytics/insights',
      generated_at: `${new Date(generatedAt * 1000).toISOString().slice(0, 19)}+00:00`,
      period_days: days,
      health: result.health,
      health_score: result.health_score,
      is_cached: isCached,
      is_stale: isStale,
      is_insufficient_data: result.is_insufficient_data,
      summary: result.summary,
      insights: result.insights,
      ...behindField(result.behind ?? 0),
    },
  }
})

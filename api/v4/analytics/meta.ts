import { filtersOf, segmentationsOf } from '../../../domain/analytics/figures/attributes.ts'
import { type ChartKind, chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { listCurrencies } from '../../../domain/analytics/figures/currencies.ts'
import { filterConditions } from '../../../domain/analytics/figures/filter-values.ts'
import { withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { environmentFaults } from '../../../domain/analytics/figures/question.ts'
import { invalidFields, notFound } from '../../../domain/kernel/refusal.ts'
import { figuresRead, onPool } from '../../operation.ts'
import { behindField, fullList } from '../../pagination.ts'

const TYPE_DEFAULT = { flow: 'column', stock: 'area', ratio: 'line' } as const satisfies Record<ChartKind, string>

function checkEnvironment(query: { environment?: 0 | 1 | undefined }, kind: 'production' | 'sandbox'): void {
  const faults = environmentFaults(query.environment, kind === 'production' ? 1 : 0)
  if (faults.length > 0) throw invalidFields(faults)
}

export const v4GetAnalyticsChartMeta = figuresRead(
  'v4GetAnalyticsChartMeta',
  async ({ path: { chart_code: code }, query, environment, environmentKind, db, facts }) => {
    checkEnvironment(query, environmentKind)
    const chart = chartOf(code)
    if (!chart) throw notFound('chart')
    const { conditions, behind } = await withFacts(facts, environment, async source => ({
      conditions: await filterConditions(source, db, environment, filtersOf(chart)),
      behind: source.behind,
    }))
    return {
      body: {
        object: 'analytics_chart_meta' as const,
        url: `/v4/analytics/charts/${code}/meta`,
        code,
        title: chart.title,
        description: chart.description,
        docUrl: `/docs/analytics#${code}`,
        isAvailable: true,
        availabilityMessage: '',
        type_default: TYPE_DEFAULT[chart.kind],
        types: ['line' as const, 'column' as const, 'area' as const],
        units_available: ['hour' as const, 'day' as const, 'week' as const, 'month' as const],
        segmentations: segmentationsOf(chart).map(attribute => ({ code: attribute.code, label: attribute.label })),
        filter_conditions: conditions,
        ...behindField(behind),
      },
    }
  },
)

export const v4ListAnalyticsCurrencies = onPool('v4ListAnalyticsCurrencies', async ({ query, environmentKind, db }) => {
  checkEnvironment(query, environmentKind)
  return { body: fullList('/v4/analytics/currencies', await listCurrencies(db)) }
})

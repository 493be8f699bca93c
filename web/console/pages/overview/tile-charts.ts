import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { useRead } from '../../data/read.ts'

type Query = Omit<Input<'v4ListAnalyticsCharts'>['query'], 'codes[]' | 'previous'>

/** The charts of the tiles by their codes, of one moment. */
export function useTileCharts(codes: readonly string[], query: Query) {
  const read = useRead('v4ListAnalyticsCharts', { query: { ...query, 'codes[]': [...codes], previous: true } }, { topics: ['facts'] })
  const charts = new Map<string, AnalyticsChart>(read.data?.data.map(chart => [chart.code, chart]))
  const shown = read.data?.data[0]
  // A minute later is no other question: only another range or currency dims what is shown.
  const isStale = shown !== undefined && (shown.from !== query.from || shown.currency !== (query.currency ?? 'USD'))
  return { charts, isStale, error: read.error, refetch: read.refetch }
}

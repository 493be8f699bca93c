import { useQueries } from '@tanstack/react-query'
import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import type { ApiError } from '../../data/api-error.ts'
import { addressOfCall, type Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { keyOf } from '../../data/read.ts'
import { request } from '../../data/request.ts'

export type ChartRead = { data: AnalyticsChart | undefined; error: ApiError | null; refetch: () => unknown; isPlaceholderData: boolean }

/** The charts of the tiles, in their order. */
export function useTileCharts(codes: readonly string[], query: Input<'v4GetAnalyticsChart'>['query']): ChartRead[] {
  const place = usePlace()
  return useQueries({
    queries: codes.map(code => {
      const input = { path: { chart_code: code }, query: { ...query, previous: true } }
      return {
        queryKey: keyOf(place, 'v4GetAnalyticsChart', input),
        enabled: place !== undefined,
        meta: { topics: ['facts'] },
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          request<AnalyticsChart>(addressOfCall(place!, 'v4GetAnalyticsChart', input), { method: 'GET', signal }),
      }
    }),
  }) as ChartRead[]
}

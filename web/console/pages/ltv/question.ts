import { useMemo } from 'react'
import { type Search, useAddress } from '../../data/address.ts'
import { COHORT_ATTRIBUTES } from '../../data/attributes.ts'
import { calendarRangeOf } from '../../data/calendar.ts'
import type { Input } from '../../data/operations.ts'
import type { Range } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { filterQuery } from '../../parts/filters.tsx'

type Query = NonNullable<Input<'v4GetAnalyticsLtv'>['query']>
export type Metric = 'arpu' | 'arppu' | 'revenue'
export type Question = {
  search: Search
  range: Range
  mode: 'by_days' | 'by_renewals'
  metric: Metric
  /** What it cost to win one user, typed by the person. */
  cost: number | undefined
  split: string | undefined
  query: Query
}

/** Days of the cohort are those of UTC. */
export const ZONE = 'UTC'
const METRICS: readonly Metric[] = ['arpu', 'arppu', 'revenue']

export function useQuestion() {
  const [search] = useAddress()
  const meta = useRead('v4GetAnalyticsLtvMeta', {})
  const range = calendarRangeOf({ range: 'last_quarter', ...search, unit: 'day' }, ZONE)
  const mode = search.mode === 'by_renewals' ? 'by_renewals' : 'by_days'
  const cost = Number(search.cost)
  const { filters, splits } = COHORT_ATTRIBUTES
  const split = splits.find(code => code === search.split)
  const query: Query = {
    cohort_from: range.from,
    cohort_to: range.to,
    mode,
    ...(search.money === 'net' && { revenue_type: 'net' as const }),
    ...(search.currency && { currency: search.currency }),
    ...(split && { segment: split }),
    ...filterQuery(search, filters),
  }
  const question: Question = {
    search,
    range,
    mode,
    metric: METRICS.find(metric => metric === search.metric) ?? 'arpu',
    cost: search.cost && Number.isFinite(cost) && cost > 0 ? cost : undefined,
    split,
    query,
  }
  const text = JSON.stringify(query)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has all of it
  const input = useMemo(() => ({ query }), [text])
  const read = useRead('v4GetAnalyticsLtv', input, { topics: ['facts'] })
  const trials = useRead('v4GetAnalyticsLtvTrialConversion', input, { topics: ['facts'] })
  return { question, meta, input, read, trials }
}

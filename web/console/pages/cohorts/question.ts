import { useMemo } from 'react'
import { type Search, useAddress } from '../../data/address.ts'
import { COHORT_ATTRIBUTES } from '../../data/attributes.ts'
import { calendarRangeOf } from '../../data/calendar.ts'
import type { Input } from '../../data/operations.ts'
import type { Range } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { filterQuery } from '../../parts/filters.tsx'
import type { Metric } from './cells.ts'

export type Query = NonNullable<Input<'v4GetAnalyticsCohorts'>['query']>
export type Grouping = 'week' | 'month' | 'quarter'
export type Question = {
  search: Search
  range: Range
  mode: 'by_renewals' | 'by_days'
  grouping: Grouping
  metric: Metric
  split: string | undefined
  /** The value of the split whose cohorts are shown; without it the values stand beside each other. */
  value: string | undefined
  query: Query
}

/** Cohorts are those of the calendar of UTC. */
export const ZONE = 'UTC'
const GROUPINGS: readonly Grouping[] = ['week', 'month', 'quarter']
const ANCHORS = ['new_customers', 'initial_conversions', 'new_paying'] as const
export type Anchor = (typeof ANCHORS)[number]
const METRICS: readonly Metric[] = ['share', 'subscriptions', 'payers', 'revenue', 'arpu', 'arppu', 'arpas']

const oneOf = <Code extends string>(known: readonly Code[], wanted: string | undefined, usual: Code): Code =>
  known.find(code => code === wanted) ?? usual

export function useQuestion() {
  const [search] = useAddress()
  const meta = useRead('v4GetAnalyticsCohortsMeta', {})
  const mode = oneOf(['by_renewals', 'by_days'] as const, search.mode, 'by_renewals')
  const grouping = oneOf(GROUPINGS, search.group, 'month')
  const range = calendarRangeOf({ range: '365d', ...search, unit: grouping === 'week' ? 'week' : 'month' }, ZONE)
  const metrics = METRICS.filter(metric => metric !== 'share' || mode === 'by_renewals')
  const metric = oneOf(metrics, search.metric, mode === 'by_renewals' ? 'share' : 'arpu')
  const { filters, splits } = COHORT_ATTRIBUTES
  const split = splits.find(code => code === search.split)
  const query: Query = {
    cohort_from: range.from,
    cohort_to: range.to,
    mode,
    grouping,
    cohort_definition: oneOf(ANCHORS, search.anchor, 'new_paying'),
    ...(search.money === 'net' && { revenue_type: 'net' as const }),
    ...(search.currency && { currency: search.currency }),
    ...(split && { segment: split }),
    ...filterQuery(search, filters),
  }
  const question: Question = { search, range, mode, grouping, metric, split, value: split && search.value, query }
  const text = JSON.stringify(query)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has all of it
  const input = useMemo(() => ({ query }), [text])
  return { question, meta, input, read: useRead('v4GetAnalyticsCohorts', input, { topics: ['facts'] }) }
}

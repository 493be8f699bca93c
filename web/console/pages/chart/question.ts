import { useMemo } from 'react'
import type { AnalyticsChartMeta } from '../../../../clients/typescript/src/index.ts'
import { type Search, useAddress } from '../../data/address.ts'
import { attributesOf } from '../../data/attributes.ts'
import { calendarRangeOf, unitFor } from '../../data/calendar.ts'
import type { Input } from '../../data/operations.ts'
import { placeOf } from '../../data/place.ts'
import type { Range, Unit } from '../../data/range.ts'
import { prefetchRead, useRead } from '../../data/read.ts'
import { preferencesOf, sessionNow, usePreferences } from '../../data/session.ts'
import { filterQuery } from '../../parts/filters.tsx'

/** With more series a chart is not read any more: so many, and the rest as one. The table has all. */
const MOST_SERIES = 11
/** Buckets that one answer may have. */
const MOST_BUCKETS = 2_000
const UNITS: readonly Unit[] = ['hour', 'day', 'week', 'month']
const SECONDS: Record<Unit, number> = { hour: 3_600, day: 86_400, week: 604_800, month: 2_629_800 }

type Query = NonNullable<Input<'v4GetAnalyticsChart'>['query']>

/** What the address asks for. */
export type Question = {
  code: string
  search: Search
  zone: string
  range: Range
  unit: Unit
  /** The attribute whose values are the series; only one that the chart has. */
  split: string | undefined
  comparing: boolean
  /** The parameters that chart, facts and explanation share. */
  query: Query
  meta: AnalyticsChartMeta | undefined
}

/** `own`: the zone of the operator. */
function questionOf(code: string, search: Search, own: string, meta?: AnalyticsChartMeta): Question {
  const zone = search.tz ?? own
  const range = calendarRangeOf(search, zone)
  const unit = unitOf(search.unit, range)
  const { filters, splits } = attributesOf(code)
  const split = splits.find(known => known === search.split)
  return {
    code,
    search,
    zone,
    range,
    unit,
    split,
    comparing: search.compare !== 'no',
    meta,
    query: {
      from: range.from,
      to: range.to,
      unit,
      timezone: zone,
      ...(search.currency && { currency: search.currency }),
      ...(split && { segmentation: split, max_series: MOST_SERIES }),
      ...filterQuery(search, filters),
    },
  }
}

const inputOf = ({ code, query }: Question) => ({ path: { chart_code: code }, query: { ...query, previous: true } })
const READ = { topics: ['facts'] } as const

export function useQuestion(code: string) {
  const [search] = useAddress()
  const preferences = usePreferences()
  const meta = useRead('v4GetAnalyticsChartMeta', { path: { chart_code: code } })
  const described = meta.data?.code === code && !meta.isPlaceholderData ? meta.data : undefined
  const asked = questionOf(code, search, preferences.zone, described)
  const text = JSON.stringify(asked.query)
  // Both stay the same objects while they ask the same: what they are given to is not drawn again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has the range, which goes on with the minute
  const question = useMemo(() => asked, [code, search, described, text])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has all of it
  const input = useMemo(() => inputOf(asked), [code, text])
  const chart = useRead('v4GetAnalyticsChart', input, READ)
  return { question, meta, chart, input }
}

/** Fetches the chart of an address before its page is drawn. Not in the sandbox, whose clock only the page knows. */
export function prefetch({ code = '' }: Record<string, string>, search: Search): void {
  const place = placeOf(search)
  if (place?.environment !== 'production') return
  const question = questionOf(code, search, preferencesOf(sessionNow()).zone)
  prefetchRead(place, 'v4GetAnalyticsChart', inputOf(question), READ)
}

export const unitsOf = (range: Range): Unit[] =>
  UNITS.filter(
    unit => (range.to - range.from) / SECONDS[unit] < MOST_BUCKETS && (unit !== 'hour' || range.to - range.from < 32 * SECONDS.day),
  )

function unitOf(wanted: string | undefined, range: Range): Unit {
  const units = unitsOf(range)
  const first = unitFor(range)
  return units.find(unit => unit === wanted) ?? units.find(unit => unit === first) ?? units[0] ?? 'day'
}

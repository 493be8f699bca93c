import type { AnalyticsView, AnalyticsViewInput } from '../../../clients/typescript/src/index.ts'
import { joined, type Search } from './address.ts'
import type { Range } from './range.ts'

/** `28d` of the address is `last_28_days` of a view; both move with the days. */
export const viewRange = ({ key, from, to }: Range): AnalyticsViewInput['range'] => {
  if (key === 'own' || key === '730d') return { from, to }
  return (/^\d+d$/.test(key) ? `last_${Number.parseInt(key, 10)}_days` : key) as AnalyticsViewInput['range']
}

/** What of the parameters of an operation a view keeps: its range is told apart. */
export const viewQuery = (query: object): NonNullable<AnalyticsViewInput['query']> =>
  Object.fromEntries(
    Object.entries(query).filter(([name, value]) => value !== undefined && !/^(from|to|cohort_from|cohort_to|previous)$/.test(name)),
  )

/** The names that parameters of the operations have in addresses. */
const NAMES: Record<string, string> = {
  unit: 'unit',
  timezone: 'tz',
  currency: 'currency',
  segmentation: 'split',
  segment: 'split',
  mode: 'mode',
  grouping: 'group',
  cohort_definition: 'anchor',
  revenue_type: 'money',
}

/** Where a view leads: the page that asks what it keeps. */
export function targetOf({ kind, code, query, range }: AnalyticsView): { to: string; search: Search } {
  const search: Search = {}
  for (const [name, value] of Object.entries(query)) {
    const filter = /^filter\[(.+)\]\[\]$/.exec(name)?.[1]
    if (filter !== undefined) search[`f.${filter}`] = joined(Array.isArray(value) ? value : [String(value)])
    else if (NAMES[name] !== undefined) search[NAMES[name]] = String(value)
  }
  if (typeof range === 'object') Object.assign(search, { from: String(range.from), to: String(range.to) })
  else search.range = presetOf(range)
  return { to: kind === 'chart' ? `/charts/${encodeURIComponent(code ?? '')}` : `/${kind}`, search }
}

/** `last_28_days` is `28d` in the address. */
export const presetOf = (range: string): string => {
  const days = /^last_(\d+)_days$/.exec(range)?.[1]
  return days === undefined ? range : `${days}d`
}

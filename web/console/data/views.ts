import type { AnalyticsViewInput } from '../../../clients/typescript/src/index.ts'
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

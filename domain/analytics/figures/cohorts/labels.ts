import type { FilterValue } from '../filter-values.ts'
import type { CohortMetric } from './cohorts.ts'
import type { CohortDefinition, CohortMode, Grouping, RevenueType } from './question.ts'

// Labels for people of the parameters of cohorts and LTV.

export const MODE_LABELS: Record<CohortMode, string> = { by_renewals: 'By renewals', by_days: 'By days' }

export const GROUPING_LABELS: Record<Grouping, string> = { day: 'Day', week: 'Week', month: 'Month', quarter: 'Quarter', year: 'Year' }

export const METRIC_LABELS: Record<CohortMetric, string> = {
  subscriptions: 'Subscriptions',
  payers: 'Paying users',
  revenue: 'Revenue',
  arpu: 'Revenue per user',
  arppu: 'Revenue per paying user',
  arpas: 'Revenue per subscription',
}

export const DEFINITION_LABELS: Record<CohortDefinition, string> = {
  new_customers: 'New users',
  initial_conversions: 'First trial or payment',
  new_paying: 'First payment',
}

export const REVENUE_LABELS: Record<RevenueType, string> = { gross: 'Gross', net: 'Net of commissions and refunds' }

export const labelled = <Code extends string>(labels: Record<Code, string>): FilterValue[] =>
  Object.entries<string>(labels).map(([code, label]) => ({ code, label }))

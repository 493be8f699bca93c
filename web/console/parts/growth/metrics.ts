import type { Experiment } from '../../../../clients/typescript/src/index.ts'
import { figure, type Measure } from '../format.ts'
import { t } from '../t.ts'

export type PrimaryMetric = NonNullable<Experiment['primary_metric']>

export const METRICS: Readonly<Record<PrimaryMetric, { says: string; measure: Measure }>> = {
  user_to_trial: { says: 'People who started a trial', measure: 'percent' },
  user_to_paid: { says: 'People who paid', measure: 'percent' },
  trial_to_paid: { says: 'Trials that converted', measure: 'percent' },
  trial_cancellation: { says: 'Trials that were cancelled', measure: 'percent' },
  subscription_cancellation: { says: 'Subscriptions that were cancelled', measure: 'percent' },
  free_trials: { says: 'Trials started', measure: 'count' },
  new_subscriptions: { says: 'New subscriptions', measure: 'count' },
  sales: { says: 'Sales', measure: 'usd' },
  proceeds: { says: 'Proceeds', measure: 'usd' },
  refunds: { says: 'Refunds', measure: 'usd' },
}

const known = (metric: string | null) => (metric !== null && Object.hasOwn(METRICS, metric) ? METRICS[metric as PrimaryMetric] : undefined)

export const metricName = (metric: string | null): string => (metric === null ? t('none') : t(known(metric)?.says ?? metric))
export const measureOf = (metric: string | null): Measure => known(metric)?.measure ?? 'count'

/** The goal in words; null without one. */
export function goalText({ goal_value, goal_direction, primary_metric }: Experiment): string | null {
  if (goal_value === null || goal_direction === null) return null
  const value = figure(goal_value, measureOf(primary_metric))
  return goal_direction === 'increase' ? t('at least {value}', { value }) : t('at most {value}', { value })
}

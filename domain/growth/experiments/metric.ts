import type { PrimaryMetric } from './experiment.ts'
import type { Figures } from './figures.ts'
import {
  isSignificant,
  type MeanSample,
  meansTest,
  type Proportion,
  proportionsTest,
  rateOf,
  rounded,
  sampleSize,
  upliftOf,
} from './statistics.ts'

/** `value` as the API shows it: a percentage, a count or an amount. */
type Measured = { value: number } & ({ is: 'proportion'; proportion: Proportion } | { is: 'mean'; sample: MeanSample })

const share = (hits: number, of: number): Measured => {
  const proportion = { hits, of }
  return { is: 'proportion', proportion, value: rounded(rateOf(proportion) * 100) }
}
const average = (value: number, n: number, mean: number, variance: number | null): Measured => ({
  is: 'mean',
  value,
  sample: { n, mean, variance },
})
const perUser = (count: number, users: number) => (users === 0 ? 0 : count / users)

/** A group's value of the primary metric, with the data for a statistical test. */
export function measure(metric: PrimaryMetric, f: Figures): Measured {
  switch (metric) {
    case 'user_to_trial':
      return share(f.trial_users, f.users)
    case 'user_to_paid':
      return share(f.paying_users, f.users)
    case 'trial_to_paid':
      return share(f.converted_trials, f.trials)
    case 'trial_cancellation':
      return share(f.cancelled_trials, f.trials)
    case 'subscription_cancellation':
      return share(f.cancelled_subscriptions, f.subscriptions)
    case 'free_trials':
      return average(f.trials, f.users, perUser(f.trials, f.users), f.trials_variance)
    case 'new_subscriptions':
      return average(f.subscriptions, f.users, perUser(f.subscriptions, f.users), f.subscriptions_variance)
    case 'sales':
    case 'proceeds':
    case 'refunds':
      return average(f[metric], f.users, f[`${metric}_mean`], f[`${metric}_variance`])
    default:
      return metric satisfies never
  }
}

export type Comparison = {
  uplift: number | null
  p_value: number | null
  is_significant: boolean | null
  recommended_sample_size: number | null
}
export const NO_COMPARISON: Comparison = { uplift: null, p_value: null, is_significant: null, recommended_sample_size: null }

/** Mean and variance of one observation: an amount per user, or a success (0 or 1). The variance is null without observations. */
const spread = (m: Measured) => {
  if (m.is === 'mean') return m.sample
  const mean = rateOf(m.proportion)
  return { mean, variance: m.proportion.of === 0 ? null : mean * (1 - mean) }
}

/** Compares a group with the control group. */
export function compare(group: Measured, control: Measured): Comparison {
  const [treated, untreated] = [spread(group), spread(control)]
  const p =
    group.is === 'proportion' && control.is === 'proportion'
      ? proportionsTest(group.proportion, control.proportion)
      : group.is === 'mean' && control.is === 'mean'
        ? meansTest(group.sample, control.sample)
        : null
  const uplift = upliftOf(treated.mean, untreated.mean)
  const significant = isSignificant(p)
  return {
    uplift: uplift === null ? null : rounded(uplift),
    p_value: p,
    is_significant: significant,
    recommended_sample_size: significant ? null : sampleSize(treated, untreated),
  }
}

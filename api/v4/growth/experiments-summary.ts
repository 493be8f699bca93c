import { unconverted as unconvertedMoney } from '../../../domain/analytics/figures/charts/answer.ts'
import { type ExperimentResult, type GroupResult, summarise } from '../../../domain/analytics/figures/experiments/summary.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { figuresRead } from '../../operation.ts'
import { behindField } from '../../pagination.ts'

const group = (result: GroupResult) => ({
  group_uid: result.id,
  name: result.name,
  is_control: result.is_control,
  users: result.users,
  pinned_users: result.pinned_users,
  paying_users: result.paying_users,
  trials: result.trials,
  trial_conversions: result.trial_conversions,
  subscriptions: result.subscriptions,
  in_app_purchases: result.in_app_purchases,
  sales: result.sales,
  proceeds: result.proceeds,
  refunds: result.refunds,
  arpu: result.arpu,
  primary_metric_value: result.value,
  goal_reached: result.goal_reached,
  uplift: result.uplift,
  p_value: result.p_value,
  is_significant: result.is_significant,
  recommended_sample_size: result.recommended_sample_size,
})

const experiment = (result: ExperimentResult) => ({
  experiment_uid: result.id,
  name: result.name,
  status: result.status,
  started_at: result.started_at,
  finished_at: result.finished_at,
  days_running: result.days_running,
  primary_metric: result.primary_metric,
  groups: result.groups.map(group),
})

export const v4GetExperimentsSummary = figuresRead('v4GetExperimentsSummary', async ({ query, environment, environmentKind, facts }) => {
  const own = environmentKind === 'production' ? 1 : 0
  if ((query.environment ?? own) !== own) throw invalidField('environment', `must be ${own}, the environment of the key`)
  const { from, to, currency } = query
  if (from !== undefined && to !== undefined && to <= from) throw invalidField('to', 'must be later than from')
  const { experiments, unconverted, behind } = await summarise(facts, environment, {
    experiments: query['filter[experiment_uid][]'],
    from,
    to,
    currency,
  })
  return {
    body: {
      object: 'experiments_summary' as const,
      url: '/v4/experiments/summary' as const,
      environment: own as 0 | 1,
      currency,
      data: experiments.map(experiment),
      ...unconvertedMoney(unconverted),
      ...behindField(behind),
    },
  }
})

import type { Experiment } from '../../../growth/experiments/experiment.ts'
import type { Figures } from '../../../growth/experiments/figures.ts'
import { type Comparison, compare, measure, NO_COMPARISON } from '../../../growth/experiments/metric.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { invalidField } from '../../../kernel/refusal.ts'
import type { LeftOutMoney } from '../charts/unconverted.ts'
import type { FactAccess } from '../open-source.ts'
import { groupFigures } from './group-figures.ts'

type SummaryQuery = { experiments: string[]; from: number | undefined; to: number | undefined; currency: string }
type SummaryGroup = { id: string; name: string | null; is_control: boolean }
type Row = Pick<
  Experiment,
  'id' | 'name' | 'status' | 'started_at' | 'finished_at' | 'primary_metric' | 'goal_value' | 'goal_direction'
> & { days_running: number; groups: SummaryGroup[] }
export type GroupResult = SummaryGroup & Figures & Comparison & { value: number | null; goal_reached: boolean | null }
export type ExperimentResult = Omit<Row, 'groups'> & { groups: GroupResult[] }

const EXPERIMENTS = `
select e.id, e.name, e.status, e.started_at, e.finished_at, e.primary_metric, e.goal_value, e.goal_direction,
  coalesce(floor(extract(epoch from coalesce(e.finished_at, c.now) - e.started_at) / 86400), 0)::int as days_running,
  (select coalesce(json_agg(json_build_object('id', g.id, 'name', g.name, 'is_control', g.is_control) order by g.n), '[]')
     from experiment_groups g where g.environment = $1 and g.experiment_id = e.id) as groups, c.is_known, floor(extract(epoch from c.now))::float8 as now
from (select environment_now($1) as now, $3 = 'USD' or exists (select 1 from currency_rates where currency = $3) as is_known) c
left join (select e.* from unnest($2::text[]) k(id)
  cross join lateral (select * from experiments where environment = $1 and id = k.id limit 1) e) e on true`

/** The results of these experiments, in the order of the request; unknown ids are left out. */
export async function summarise(
  access: FactAccess,
  environment: Environment,
  query: SummaryQuery,
): Promise<{ experiments: ExperimentResult[]; unconverted: LeftOutMoney[]; behind: number }> {
  const ids = [...new Set(query.experiments)]
  const { rows } = await access.pool.query<Row & { is_known: boolean; now: number }>(EXPERIMENTS, [environment, ids, query.currency])
  if (!rows[0]?.is_known) throw invalidField('currency', 'has no rates here: see the list of currencies')
  const known = ids.flatMap(id => rows.find(row => row.id === id) ?? [])
  if (known.length === 0) return { experiments: [], unconverted: [], behind: 0 }
  const { now } = rows[0]
  const { groups, unconverted, behind } = await groupFigures(access, environment, { ...query, now, experiments: known.map(row => row.id) })
  return {
    experiments: known.map(({ is_known: _known, now: _now, ...row }) => ({ ...row, groups: resultsOf(row, groups) })),
    unconverted,
    behind,
  }
}

const NO_USERS: Omit<Figures, 'group_id'> = {
  users: 0,
  pinned_users: 0,
  paying_users: 0,
  trial_users: 0,
  trials: 0,
  converted_trials: 0,
  cancelled_trials: 0,
  trial_conversions: 0,
  subscriptions: 0,
  cancelled_subscriptions: 0,
  in_app_purchases: 0,
  sales: 0,
  proceeds: 0,
  refunds: 0,
  arpu: 0,
  sales_mean: 0,
  proceeds_mean: 0,
  refunds_mean: 0,
  trials_variance: null,
  subscriptions_variance: null,
  sales_variance: null,
  proceeds_variance: null,
  refunds_variance: null,
}

function resultsOf({ primary_metric, goal_value, goal_direction, groups }: Row, figures: Map<string, Figures>): GroupResult[] {
  const all = groups.map(group => {
    const found = figures.get(group.id) ?? { ...NO_USERS, group_id: group.id }
    return { group, found, measured: primary_metric === null ? null : measure(primary_metric, found) }
  })
  const control = all.find(({ group }) => group.is_control)?.measured ?? null
  return all.map(({ group, found, measured }) => {
    const value = measured?.value ?? null
    const isCompared = !group.is_control && measured !== null && control !== null
    return {
      ...group,
      ...found,
      ...(isCompared ? compare(measured, control) : NO_COMPARISON),
      value,
      goal_reached: reached(value, goal_value === null ? null : Number(goal_value), goal_direction),
    }
  })
}

function reached(value: number | null, goal: number | null, direction: Experiment['goal_direction']): boolean | null {
  if (value === null || goal === null || direction === null) return null
  return direction === 'increase' ? value >= goal : value <= goal
}

import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { FACTS } from './facts.ts'

/** Amounts as exact decimal text, rounded to cents; `…_variance` of the amounts per user, null for fewer than two users. */
export type Figures = {
  group_id: string
  users: number
  pinned_users: number
  paying_users: number
  trial_users: number
  trials: number
  converted_trials: number
  cancelled_trials: number
  trial_conversions: number
  subscriptions: number
  cancelled_subscriptions: number
  in_app_purchases: number
  sales: string
  proceeds: string
  refunds: string
  arpu: string
  sales_mean: number
  proceeds_mean: number
  refunds_mean: number
  trials_variance: number | null
  subscriptions_variance: number | null
  sales_variance: number | null
  proceeds_variance: number | null
  refunds_variance: number | null
}
export type Unconverted = { currency: string; transactions: number; amount: string }

const AMOUNTS = ['sales', 'proceeds', 'refunds']
const COUNTS = [
  'trials',
  'converted_trials',
  'cancelled_trials',
  'trial_conversions',
  'subscriptions',
  'cancelled_subscriptions',
  'in_app_purchases',
]

// A user without a fact counts 0 in every mean: users are joined from the left.
const FIGURES = `
with w as materialized (
  select e.id, greatest(e.started_at, $4::timestamptz) as starts,
    least(coalesce(e.finished_at, c.now), coalesce($5::timestamptz, 'infinity')) as ends
  from experiments e cross join (select environment_now($1) as now) c
  where e.environment = $1 and e.id = any ($3::text[])
), m as materialized (
  select a.experiment_id, a.group_id, a.user_id, a.pinned, greatest(a.assigned_at, w.starts) as starts,
    case when w.starts is not null then w.ends end as ends
  from w join experiment_assignments a on a.environment = $1 and a.experiment_id = w.id
), f as materialized (
  select m.experiment_id, m.user_id, fact.* from m cross join lateral (${FACTS}) fact
), u as (
  select experiment_id, user_id,
    count(*) filter (where kind = 'trial') as trials,
    count(*) filter (where kind = 'trial' and converted) as converted_trials,
    count(*) filter (where kind = 'trial' and cancelled) as cancelled_trials,
    count(*) filter (where kind = 'conversion') as trial_conversions,
    count(*) filter (where kind in ('start', 'conversion')) as subscriptions,
    count(*) filter (where kind in ('start', 'conversion') and cancelled) as cancelled_subscriptions,
    count(*) filter (where kind = 'one_time') as in_app_purchases,
    count(*) filter (where kind not in ('trial', 'refund')) as payments,
    sum(money) filter (where kind not in ('trial', 'refund')) as sales,
    sum(case kind when 'refund' then -proceeds else proceeds end) as proceeds,
    sum(money) filter (where kind = 'refund') as refunds
  from f group by experiment_id, user_id
), g as (
  select m.group_id, count(*)::int as users, count(*) filter (where m.pinned)::int as pinned_users,
    count(*) filter (where u.payments > 0)::int as paying_users, count(*) filter (where u.trials > 0)::int as trial_users,
    ${COUNTS.map(name => `coalesce(sum(u.${name}), 0)::int as ${name}`).join(', ')},
    ${AMOUNTS.map(name => `round(coalesce(sum(u.${name}), 0), 2)::text as ${name}`).join(', ')},
    round((coalesce(sum(u.sales), 0) - coalesce(sum(u.refunds), 0)) / count(*), 2)::text as arpu,
    ${AMOUNTS.map(name => `(coalesce(sum(u.${name}), 0) / count(*))::float8 as ${name}_mean`).join(', ')},
    ${['trials', 'subscriptions', ...AMOUNTS].map(name => `var_samp(coalesce(u.${name}, 0)::float8) as ${name}_variance`).join(', ')}
  from m left join u on u.experiment_id = m.experiment_id and u.user_id = m.user_id group by m.group_id
)
select (select coalesce(json_agg(g), '[]') from g) as groups,
  (select coalesce(json_agg(json_build_object('currency', x.currency, 'transactions', x.transactions, 'amount', x.amount::text)
     order by x.currency), '[]')
   from (select d.currency, count(*)::int as transactions, sum(d.amount) as amount
         from (select distinct id, currency, amount from f where kind not in ('trial', 'refund') and money is null) d group by d.currency) x
  ) as unconverted`

/**
 * What the users of each group did since their assignment, within the experiment's time and [from, to). A group without users has no
 * row. Reads every transaction of these users once: seconds for a hundred thousand of them.
 */
export async function loadFigures(
  db: Db,
  environment: Environment,
  { experiments, from, to, currency }: { experiments: string[]; from: number | undefined; to: number | undefined; currency: string },
): Promise<{ groups: Map<string, Figures>; unconverted: Unconverted[] }> {
  const at = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000).toISOString())
  const { rows } = await db.query<{ groups: Figures[]; unconverted: Unconverted[] }>({
    name: 'experiment-figures',
    text: FIGURES,
    values: [environment, currency, experiments, at(from), at(to)],
  })
  const { groups, unconverted } = rows[0]!
  return { groups: new Map(groups.map(group => [group.group_id, group])), unconverted }
}

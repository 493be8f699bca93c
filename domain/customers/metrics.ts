import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { filters, foundUsers, parameters, type Selection } from './selection.ts'

export type CustomerMetrics = {
  active_subscribers: number
  active_trials: number
  billing_retry: number
  canceled_trials: number
  churned_subscribers: number
  clients_with_event: number
  avg_payment_count: number
  avg_price: number
  sales: number
}

/** Figures over the selected customers; amounts in USD. Rounded once, at the end, half away from zero. */
export async function customerMetrics(db: Db, environment: Environment, selection: Selection): Promise<CustomerMetrics> {
  const given = parameters(environment)
  const from = selection.search === undefined ? 'users u' : foundUsers(selection.search, given)
  const conditions = ['u.environment = $1', ...filters(selection, given, 'u.status')]
  const { rows } = await db.query<CustomerMetrics>(
    `select count(*) filter (where u.status in ('active', 'canceled')) as active_subscribers,
       count(*) filter (where u.status in ('trial', 'canceled_trial')) as active_trials,
       count(*) filter (where u.status = 'billing_retry') as billing_retry,
       count(*) filter (where u.status = 'canceled_trial') as canceled_trials,
       count(*) filter (where u.status = 'churned') as churned_subscribers,
       count(*) filter (where exists (select from events e where e.environment = $1 and e.user_id = u.id)) as clients_with_event,
       coalesce(round(sum(u.payments_count)::numeric / nullif(count(*) filter (where u.payments_count > 0), 0), 2), 0)::float8 as avg_payment_count,
       coalesce(round(sum(u.gross_payments_usd) / nullif(sum(u.converted_payments), 0), 2), 0)::float8 as avg_price,
       coalesce(round(sum(u.net_payments_usd), 2), 0)::float8 as sales
     from ${from} where ${conditions.join(' and ')}`,
    given.values,
  )
  return rows[0]!
}

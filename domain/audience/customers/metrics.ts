import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { CustomerSelection } from './selection.ts'

type CustomerMetrics = {
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

/** Figures over the selected customers; amounts in USD. */
export async function customerMetrics(db: Db, environment: Environment, selection: CustomerSelection): Promise<CustomerMetrics> {
  const { metricsStatement } = await import('./statements.ts')
  const { sql, parameters } = metricsStatement(environment, selection)
  const { rows } = await db.query<CustomerMetrics>(sql, parameters)
  return rows[0]!
}

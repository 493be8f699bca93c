import type { Db } from '../../../store/connect.ts'
import type { DeliveryAttempt } from '../../integrations/deliveries/delivery.ts'
import type { Environment } from '../../kernel/environment.ts'

/** The delivery of a webhook step. `run`: the number of the run. `is_retried`: it has failed and is tried again. */
export type ShownDelivery = {
  run: number
  step_id: string
  id: string
  integration_id: string
  status: 'pending' | 'retrying' | 'held' | 'delivered' | 'failed'
  reason: string | null
  is_retried: boolean
  attempt_count: number
  attempts: DeliveryAttempt[]
  /** Null while the integration is not active: then the delivery is held. */
  next_attempt_at: string | null
}

const FIND = `
  select k.number as run, v.step_id, v.id, i.id as integration_id, v.reason, v.status = 'retrying' as is_retried, v.attempt_count, v.attempts,
    case when v.status in ('pending', 'retrying') and i.active <> 1 then 'held' else v.status end as status,
    case when v.status in ('pending', 'retrying') and i.active = 1 then v.next_attempt_at end as next_attempt_at
  from unnest($2::bigint[]) k(number)
  cross join lateral (select id from automation_runs where number = k.number limit 1) r
  cross join lateral (
    select * from deliveries where environment = $1 and run_id >= r.id and run_id <= r.id and source = 'automation' order by run_id offset 0) v
  cross join lateral (select id, active from integrations where number = v.integration limit 1) i`

/** The deliveries of the webhook steps of these runs, as long as they are kept. */
export async function deliveriesOfRuns(db: Db, environment: Environment, runs: readonly number[]): Promise<ShownDelivery[]> {
  if (runs.length === 0) return []
  const { rows } = await db.query<ShownDelivery>({ name: 'deliveries-of-runs', text: FIND, values: [environment, runs] })
  return rows
}

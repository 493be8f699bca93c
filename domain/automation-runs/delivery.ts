import type { Tx } from '../../store/connect.ts'
import { lockFence } from '../jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import type { AutomationRun } from './load.ts'

export type StepDelivery = { id: string; status: 'pending' | 'retrying' | 'delivered' | 'failed'; http_status: number | null }

/**
 * The delivery that a claimed run's step created, read under the lock of the run's job: the delivery's end, which locks that job and wakes
 * the run, comes either before this read or after the run is suspended again. Retention, which locks no job, has written the end of a delivery
 * that it removed to the step: that is read after the delivery. Null: it is stored nowhere. Throws `LeaseLost`.
 */
export async function deliveryOfStep(
  tx: Tx,
  { environment, id, number, fence }: AutomationRun,
  step: string,
): Promise<StepDelivery | null> {
  await lockFence(tx, { kind: AUTOMATION_RUN_DUE, id: number, fence })
  const { rows } = await tx.query<StepDelivery>(
    `select id, status, (attempts -> -1 ->> 'http_status')::int as http_status from deliveries
     where environment = $1 and run_id = $2 and step_id = $3 and source = 'automation'`,
    [environment, id, step],
  )
  if (rows[0]) return rows[0]
  const removed = await tx.query<StepDelivery>(
    `select result ->> 'delivery_id' as id, result ->> 'status' as status, (result ->> 'http_status')::int as http_status
     from automation_steps where run = $1 and step_id = $2 and status = 'waiting' and result ->> 'delivery_id' is not null`,
    [number, step],
  )
  return removed.rows[0] ?? null
}

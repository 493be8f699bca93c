import type { Tx } from '../../store/connect.ts'
import { lockFence } from '../jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import type { AutomationRun } from './load.ts'

export type StepDelivery = { id: string; status: 'pending' | 'retrying' | 'delivered' | 'failed'; http_status: number | null }

/**
 * The delivery that a claimed run's step created, read under the lock of the run's job: the delivery's end, which locks that job and wakes
 * the run, comes either before this read or after the run is suspended again. Null: it is no longer stored. Throws `LeaseLost`.
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
  return rows[0] ?? null
}

/** The end of a delivery that retention has removed, as it stands in the step that still waits; null: none does. */
export function removedDelivery(result: Record<string, unknown> | null): StepDelivery | null {
  const { delivery_id, status, http_status } = (result ?? {}) as {
    delivery_id?: string
    http_status?: number | null
  } & Partial<StepDelivery>
  if (delivery_id === undefined || status === undefined) return null
  return { id: delivery_id, status, http_status: http_status ?? null }
}

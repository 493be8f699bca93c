import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

export type StepDelivery = { id: string; status: 'pending' | 'retrying' | 'delivered' | 'failed'; http_status: number | null }

/**
 * The delivery that a run's step created, locked until the transaction ends: the delivery's end, which wakes the run, comes either before
 * this read or after the run is suspended again. Null: it is no longer stored.
 */
export async function deliveryOfStep(tx: Tx, environment: Environment, run: string, step: string): Promise<StepDelivery | null> {
  const { rows } = await tx.query<StepDelivery>(
    `select id, status, (attempts -> -1 ->> 'http_status')::int as http_status from deliveries
     where environment = $1 and run_id = $2 and step_id = $3 and source = 'automation' for share`,
    [environment, run, step],
  )
  return rows[0] ?? null
}

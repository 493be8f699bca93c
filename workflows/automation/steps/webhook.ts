import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { deliveryOfStep } from '../../../domain/automation-runs/delivery.ts'
import { failed, type StepKinds, succeeded } from '../step-kind.ts'

/** The delivery's end wakes the run; should that be missed, it looks by itself. */
const LOOK = 'P1D'

export const webhook: StepKinds['webhook'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run, recorded, now }, { createDelivery }) {
    if (recorded?.status !== 'waiting') {
      const delivery = await createDelivery(tx, run.environment, {
        integrationId: step.integration_id,
        automation: { id: run.automation_id, version: run.version, run_id: run.id, step_id: step.id },
        event: { id: run.event_id, name: run.event_name, user_id: run.user_id, partition: run.partition, log_offset: run.log_offset },
      })
      return delivery === null ? failed('integration_not_found') : { is: 'waiting', until: deadlineAfter(now, LOOK) }
    }
    const delivery = await deliveryOfStep(tx, run.environment, run.id, step.id)
    if (!delivery) return failed('webhook_failed')
    const result = { delivery_id: delivery.id, http_status: delivery.http_status }
    if (delivery.status === 'delivered') return succeeded(result)
    return delivery.status === 'failed' ? failed('webhook_failed', result) : { is: 'waiting', until: deadlineAfter(now, LOOK) }
  },
}

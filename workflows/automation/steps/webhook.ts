import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { deliveryOfStep } from '../../../domain/automation-runs/delivery.ts'
import { createAutomationDelivery } from '../../../domain/deliveries/create.ts'
import { failed, type StepKinds, succeeded } from '../step-kind.ts'

/** The delivery's end wakes the run; should that be missed, it looks by itself. */
const LOOK = 'P1D'

export const webhook: StepKinds['webhook'] = {
  by: 'transaction',
  effect: true,
  plansOnce: true,
  async transact(tx, { step, run, recorded, now }) {
    if (recorded?.status !== 'waiting') {
      const delivery = await createAutomationDelivery(tx, run.environment, { integrationId: step.integration_id, run, stepId: step.id })
      return delivery === null ? failed('integration_not_found') : { is: 'waiting', until: deadlineAfter(now, LOOK) }
    }
    const delivery = await deliveryOfStep(tx, run.environment, run.id, step.id)
    if (!delivery) return failed('webhook_failed')
    const result = { delivery_id: delivery.id, http_status: delivery.http_status }
    if (delivery.status === 'delivered') return succeeded(result)
    return delivery.status === 'failed' ? failed('webhook_failed', result) : { is: 'waiting', until: deadlineAfter(now, LOOK) }
  },
}

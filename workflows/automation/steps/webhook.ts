import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { deliveryOfStep } from '../../../domain/automation-runs/delivery.ts'
import { createAutomationDelivery } from '../../../domain/deliveries/create.ts'
import { DELIVERY_DUE } from '../../../domain/deliveries/delivery.ts'
import { StopRetrying } from '../../engine/policy.ts'
import { failed, type StepKinds, succeeded } from '../step-kind.ts'

/** The delivery's end wakes the run; should that be missed, it looks by itself. */
const LOOK = 'P1D'

export const webhook: StepKinds['webhook'] = {
  by: 'transaction',
  effect: true,
  plansOnce: true,
  makes: DELIVERY_DUE,
  async transact(tx, { step, run, recorded, now }, _, room) {
    if (recorded?.status !== 'waiting') {
      const make = async () => {
        const wanted = { integrationId: step.integration_id, run, stepId: step.id }
        const delivery = await createAutomationDelivery(tx, run.environment, wanted, room)
        if (delivery === null) throw new StopRetrying('integration_not_found')
        return delivery.claimed
      }
      return { is: 'waiting', until: deadlineAfter(now, LOOK), make }
    }
    const delivery = await deliveryOfStep(tx, run.environment, run.id, step.id)
    if (!delivery) return failed('webhook_failed')
    const result = { delivery_id: delivery.id, http_status: delivery.http_status }
    if (delivery.status === 'delivered') return succeeded(result)
    return delivery.status === 'failed' ? failed('webhook_failed', result) : { is: 'waiting', until: deadlineAfter(now, LOOK) }
  },
}

import { deadlineAfter } from '../../../domain/automations/automation-runs/deadline.ts'
import { deliveriesOfSteps, type StepDelivery } from '../../../domain/automations/automation-runs/deliveries-of-steps.ts'
import { createAutomationDeliveries } from '../../../domain/integrations/deliveries/create.ts'
import { DELIVERY_DUE } from '../../../domain/integrations/deliveries/delivery.ts'
import { StopRetrying } from '../../engine/policy.ts'
import { failed, type StepKinds, type StepOutcome, succeeded } from '../step-kind.ts'

/** The end of the delivery wakes the run. If that wake-up is missed, the run looks at the delivery after a day. */
const LOOK_AFTER = 'P1D'

function outcomeOf(delivery: StepDelivery | null, now: string): StepOutcome {
  if (!delivery) return failed('webhook_failed')
  const result = { delivery_id: delivery.id, http_status: delivery.http_status }
  if (delivery.status === 'delivered') return succeeded(result)
  return delivery.status === 'failed' ? failed('webhook_failed', result) : { is: 'waiting', until: deadlineAfter(now, LOOK_AFTER) }
}

export const webhookStep: StepKinds['webhook'] = {
  by: 'group',
  effect: true,
  inserts: DELIVERY_DUE,
  async transactAll(tx, contexts, capacity) {
    const { environment } = contexts[0]!.run
    if (contexts[0]!.recorded?.status === 'waiting') {
      const found = await deliveriesOfSteps(
        tx,
        environment,
        contexts.map(({ run, step }) => ({ run, step: step.id })),
      )
      return { outcomes: contexts.map(({ now }, i) => (found[i] === 'lost' ? null : outcomeOf(found[i]!, now))), claimed: [] }
    }
    const wanted = contexts.map(({ run, step, trace }) => ({
      integrationId: step.integration_id,
      run,
      stepId: step.id,
      trace: trace ?? null,
    }))
    const { ids, claimed } = await createAutomationDeliveries(tx, environment, wanted, capacity)
    const outcomes = contexts.map(({ now }, i): StepOutcome | Error =>
      ids[i] === null ? new StopRetrying('integration_not_found') : { is: 'waiting', until: deadlineAfter(now, LOOK_AFTER) },
    )
    return { outcomes, claimed }
  },
}

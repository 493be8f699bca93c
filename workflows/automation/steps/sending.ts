import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { deliveryOfStep } from '../../../domain/automation-runs/delivery.ts'
import { fillIn } from '../../../domain/automation-runs/placeholders.ts'
import { createAutomationDelivery } from '../../../domain/deliveries/create.ts'
import { DELIVERY_DUE } from '../../../domain/deliveries/delivery.ts'
import { StopRetrying } from '../../engine/policy.ts'
import { failed, requireTrigger, type StepKinds, succeeded } from '../step-kind.ts'

export const emailStep: StepKinds['email'] = {
  by: 'effect',
  effect: true,
  type: 'email',
  failure: 'email_failed',
  async act({ step, run }, scope, { effects, triggerOf }) {
    const occurrence = await requireTrigger(triggerOf, run)
    const { to, message_id } = await effects.sendEmail(run.environment, {
      ...(step.to !== undefined && { to: step.to }),
      subject: fillIn(step.subject, occurrence),
      text: fillIn(step.text, occurrence),
      occurrence,
      ...scope,
    })
    return succeeded({ to, message_id })
  },
}

export const pushStep: StepKinds['push'] = {
  by: 'effect',
  effect: true,
  type: 'push',
  failure: 'push_failed',
  async act({ step, run }, scope, { effects, triggerOf }) {
    const occurrence = await requireTrigger(triggerOf, run)
    const { provider, provider_message_id } = await effects.sendPush(run.environment, { push: step.push, occurrence, ...scope })
    return succeeded({ provider, provider_message_id })
  },
}

/** The end of the delivery wakes the run. If that wake-up is missed, the run looks at the delivery after a day. */
const LOOK_AFTER = 'P1D'

export const webhookStep: StepKinds['webhook'] = {
  by: 'transaction',
  effect: true,
  plansOnce: true,
  inserts: DELIVERY_DUE,
  async transact(tx, { step, run, recorded, now }, _, capacity) {
    if (recorded?.status !== 'waiting') {
      const insertJobs = async () => {
        const wanted = { integrationId: step.integration_id, run, stepId: step.id }
        const delivery = await createAutomationDelivery(tx, run.environment, wanted, capacity)
        if (delivery === null) throw new StopRetrying('integration_not_found')
        return delivery.claimed
      }
      return { is: 'waiting', until: deadlineAfter(now, LOOK_AFTER), insertJobs }
    }
    const delivery = await deliveryOfStep(tx, run, step.id)
    if (!delivery) return failed('webhook_failed')
    const result = { delivery_id: delivery.id, http_status: delivery.http_status }
    if (delivery.status === 'delivered') return succeeded(result)
    return delivery.status === 'failed' ? failed('webhook_failed', result) : { is: 'waiting', until: deadlineAfter(now, LOOK_AFTER) }
  },
}

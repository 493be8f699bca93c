import { fillIn } from '../../../domain/automations/automation-runs/placeholders.ts'
import { requireTrigger, type StepKinds, succeeded } from '../step-kind.ts'

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

import { requireTrigger, type StepKinds, succeeded } from '../step-kind.ts'

export const push: StepKinds['push'] = {
  by: 'effect',
  effect: true,
  failure: 'push_failed',
  async act({ step, run }, scope, { effects, triggerOf }) {
    const occurrence = await requireTrigger(triggerOf, run)
    const { provider, provider_message_id } = await effects.sendPush(run.environment, { push: step.push, occurrence, ...scope })
    return succeeded({ provider, provider_message_id })
  },
}

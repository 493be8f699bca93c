import { shownCondition } from '../audience/segments/condition.ts'
import type { AutomationData, Frequency, Step } from './automation-runs/definition.ts'
import type { DataInput, StepInput } from './input.ts'

/** A step with its defaults, its fields in the order of the description: jsonb has its own order of keys. */
function completeStep(step: StepInput): Step {
  const { id } = step
  switch (step.type) {
    case 'delay':
      return { id, type: step.type, duration: step.duration }
    case 'wait_until':
      return { id, type: step.type, time: step.time, timezone: step.timezone }
    case 'wait_for_event':
      return { id, type: step.type, event: step.event, timeout: step.timeout, on_timeout: completeSteps(step.on_timeout ?? []) }
    case 'branch': {
      const { conditions } = step
      const nested = { then: completeSteps(step.then ?? []), else: completeSteps(step.else ?? []) }
      return { id, type: step.type, conditions: conditions.map(shownCondition), ...nested }
    }
    case 'webhook':
      return { id, type: step.type, integration_id: step.integration_id }
    case 'email': {
      const { to, subject, text } = step
      return { id, type: step.type, ...(to !== undefined && { to }), subject, text }
    }
    case 'push':
      return { id, type: step.type, push: step.push }
    case 'screen':
      return { id, type: step.type, screen: step.screen }
    case 'grant_entitlement':
      return { id, type: step.type, entitlement_id: step.entitlement_id, duration: step.duration }
    case 'set_property':
      return { id, type: step.type, key: step.key, value: step.value }
    case 'exit':
      return { id, type: step.type }
    default:
      return step satisfies never
  }
}

const completeSteps = (steps: readonly StepInput[]): Step[] => steps.map(completeStep)

const frequencyOf = ({ max_runs_per_user, per }: Frequency): Frequency => ({ max_runs_per_user, per })

/** The form in which data is stored, shown and compared, from sent or stored data. Data with steps has no actions: they would not be executed. */
export function completeData({ platform, initiators, actions, segments, steps, frequency, reentry }: DataInput): AutomationData {
  const { push, screen } = steps ? {} : (actions ?? {})
  return {
    type: 'event',
    platform: platform ?? null,
    initiators: (initiators ?? []).map(({ uid }) => ({ uid, type: 'event' })),
    actions: { ...(push !== undefined && { push }), ...(screen !== undefined && { screen }) },
    segments: segments ?? null,
    ...(steps && { steps: completeSteps(steps) }),
    ...(frequency && { frequency: frequencyOf(frequency) }),
    reentry: reentry ?? true,
  }
}

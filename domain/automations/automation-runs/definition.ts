import type { Condition } from '../../audience/segments/condition.ts'

export type Frequency = { max_runs_per_user: number; per: 'hour' | 'day' | 'week' | 'month' | 'lifetime' }

/** A step as it is stored: complete, defaults filled in. Durations are ISO 8601, event types as they were given. */
export type Step = { id: string } & (
  | { type: 'delay'; duration: string }
  | { type: 'wait_until'; time: string; timezone: string }
  | { type: 'wait_for_event'; event: string | string[]; timeout: string; on_timeout: Step[] }
  | { type: 'branch'; conditions: Condition[]; then: Step[]; else: Step[] }
  | { type: 'webhook'; integration_id: string }
  | { type: 'email'; to?: string; subject: string; text: string }
  | { type: 'push'; push: string }
  | { type: 'screen'; screen: string }
  | { type: 'grant_entitlement'; entitlement_id: string; duration: string | null }
  | { type: 'set_property'; key: string; value: string }
  | { type: 'exit' }
)
export type StepType = Step['type']

/** The event types of which any one ends the wait. */
export const awaitedEvents = ({ event }: Extract<Step, { type: 'wait_for_event' }>): string[] => [event].flat()

/** The definition of an automation, as it is stored and shown. */
export type AutomationData = {
  type: 'event'
  platform: 'iOS' | 'Android' | null
  initiators: { uid: string; type: 'event' }[]
  actions: { push?: string; screen?: string }
  segments: string | null
  steps?: Step[]
  frequency?: Frequency
  reentry: boolean
}

/** The steps that a run executes: `steps`, or else the actions, each as a step of that name. */
export const stepsOf = ({ steps, actions: { push, screen } }: AutomationData): Step[] =>
  steps ?? [
    ...(push === undefined ? [] : [{ id: 'push', type: 'push' as const, push }]),
    ...(screen === undefined ? [] : [{ id: 'screen', type: 'screen' as const, screen }]),
  ]

/** `field`: the path to the step as errors name it. `depth`: from 1. */
export type LocatedStep = { step: Step; field: string; depth: number }

/** The lists that are nested in a step, by the field that holds them. */
function nestedLists(step: Step): [field: string, steps: Step[]][] {
  if (step.type === 'branch')
    return [
      ['then', step.then],
      ['else', step.else],
    ]
  return step.type === 'wait_for_event' ? [['on_timeout', step.on_timeout]] : []
}

/** All steps of all levels, each before the steps that are nested in it. */
export function locatedSteps(steps: readonly Step[], field = 'data.steps', depth = 1): LocatedStep[] {
  return steps.flatMap((step, i) => {
    const at = `${field}[${i}]`
    const nested = nestedLists(step).flatMap(([name, list]) => locatedSteps(list, `${at}.${name}`, depth + 1))
    return [{ step, field: at, depth }, ...nested]
  })
}

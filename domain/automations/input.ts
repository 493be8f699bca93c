import type { ConditionInput } from '../audience/segments/condition.ts'
import type { Frequency, Step } from './automation-runs/definition.ts'

type Nested = { branch: 'conditions' | 'then' | 'else'; wait_for_event: 'on_timeout' }
type Branch = { conditions: readonly ConditionInput[]; then?: readonly StepInput[]; else?: readonly StepInput[] }
type WaitForEvent = { on_timeout?: readonly StepInput[] }
type Filled<S extends Step, Keys extends string, More> = S extends unknown ? Omit<S, Keys> & More : never

/** A step as it is sent: fields with a default are optional. The description checks its shape. */
export type StepInput =
  | Exclude<Step, { type: 'branch' | 'wait_for_event' }>
  | Filled<Extract<Step, { type: 'branch' }>, Nested['branch'], Branch>
  | Filled<Extract<Step, { type: 'wait_for_event' }>, Nested['wait_for_event'], WaitForEvent>

/** The definition of an automation, as it is sent. */
export type DataInput = {
  type?: unknown
  platform?: 'iOS' | 'Android' | null
  initiators?: readonly { uid: string; type: 'event' }[]
  actions?: { push?: string; screen?: string; event?: unknown }
  segments?: string | null
  steps?: readonly StepInput[]
  frequency?: Frequency
  reentry?: boolean
}

export type AutomationStatus = 'active' | 'inactive' | 'paused'
export type AutomationInput = { name: string; caption: string; status: AutomationStatus; data: DataInput }

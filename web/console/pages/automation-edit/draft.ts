import type { Automation, AutomationStep, AutomationUpdateInput } from '../../../../clients/typescript/src/index.ts'
import type { ApiError } from '../../data/api-error.ts'
import { type StepType, stepsOf } from '../automation/words.ts'

export type Draft = Omit<AutomationUpdateInput, 'updated_at' | 'caption'> & { caption: string }
type Data = Draft['data']

export const NEW: Draft = {
  name: '',
  caption: '',
  status: 'inactive',
  data: { platform: null, initiators: [], segments: null, steps: [], reentry: true },
}

/** What a form changes. Actions are shown as the steps that they are, and stored so. */
export function draftOf({ name, caption, status, data }: Automation): Draft {
  const { platform, initiators, segments, frequency, reentry } = data
  return { name, caption, status, data: { platform, initiators, segments, steps: stepsOf(data), ...(frequency && { frequency }), reentry } }
}

export const withData = (draft: Draft, change: Partial<Data>): Draft => {
  const data = { ...draft.data, ...change }
  if (change.frequency === undefined && 'frequency' in change) delete data.frequency
  return { ...draft, data }
}

export const stepsIn = ({ data }: Draft): AutomationStep[] => data.steps ?? []

const idsIn = (steps: readonly AutomationStep[]): string[] =>
  steps.flatMap(step => [
    step.id,
    ...(step.type === 'branch' ? idsIn([...(step.then ?? []), ...(step.else ?? [])]) : []),
    ...(step.type === 'wait_for_event' ? idsIn(step.on_timeout ?? []) : []),
  ])

const SHORT: Partial<Record<StepType, string>> = { delay: 'wait', wait_for_event: 'waits', grant_entitlement: 'gift', set_property: 'mark' }

/** A step of a type with an id that no other one has. */
export function newStep(type: StepType, all: readonly AutomationStep[]): AutomationStep {
  const taken = new Set(idsIn(all))
  const name = SHORT[type] ?? type
  let id = name
  for (let n = 2; taken.has(id); n++) id = `${name}-${n}`
  switch (type) {
    case 'delay':
      return { id, type, duration: 'P1D' }
    case 'wait_until':
      return { id, type, time: '09:00', timezone: 'UTC' }
    case 'wait_for_event':
      return { id, type, event: [], timeout: 'P2D', on_timeout: [] }
    case 'branch':
      return { id, type, conditions: [], then: [], else: [] }
    case 'webhook':
      return { id, type, integration_id: '' }
    case 'email':
      return { id, type, subject: '', text: '' }
    case 'push':
      return { id, type, push: '' }
    case 'screen':
      return { id, type, screen: '' }
    case 'grant_entitlement':
      return { id, type, entitlement_id: '', duration: 'P7D' }
    case 'set_property':
      return { id, type, key: '', value: '' }
    case 'exit':
      return { id, type }
    default:
      return type satisfies never
  }
}

/** What the service says about a field, by its path: `data.steps[0].duration`. A fault inside a field is one of the field. */
export const faultAt = (error: ApiError | null, path: string): string | undefined =>
  error?.details.find(({ field }) => field === path || field?.startsWith(`${path}.`) || field?.startsWith(`${path}[`))?.message

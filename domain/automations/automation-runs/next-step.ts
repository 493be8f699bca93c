import type { Step } from './definition.ts'

export type AutomationStepStatus = 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped' | 'cancelled'
/** The part of a timeline's step that decides which step comes next. */
export type Passed = { step_id: string; status: AutomationStepStatus; result: unknown }

/** The timeline names another step than the definition has at that index: the run is not of this version. */
export class StepMismatch extends Error {}

const isOver = ({ status }: Passed) => status === 'succeeded' || status === 'skipped'

function nested(step: Step, result: unknown): Step[] {
  if (step.type === 'branch') return (result as { taken: 'then' | 'else' }).taken === 'then' ? step.then : step.else
  if (step.type === 'wait_for_event') return (result as { outcome: 'event' | 'timeout' }).outcome === 'timeout' ? step.on_timeout : []
  return []
}

/**
 * Follows the recorded steps, in order of their start, through the definition: the step that is under way or comes next, and its number
 * in the timeline; null at the end. `exited`: an exit step was passed. Throws StepMismatch.
 */
export function nextStep(steps: Step[], timeline: readonly Passed[]): { next: { n: number; step: Step } | null; exited: boolean } {
  let n = 0
  let exited = false
  const visit = (list: Step[]): Step | null => {
    for (const step of list) {
      const passed = timeline[n]
      if (!passed) return step
      if (passed.step_id !== step.id)
        throw new StepMismatch(`step ${n} is "${step.id}" in the definition but was recorded as "${passed.step_id}"`)
      if (!isOver(passed)) return step
      n++
      exited = step.type === 'exit'
      if (exited) return null
      const found = visit(nested(step, passed.result))
      if (found || exited) return found
    }
    return null
  }
  const step = visit(steps)
  return { next: step && { n, step }, exited }
}

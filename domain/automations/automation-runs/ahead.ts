import { deadlineAfter, nextInstantAt } from './deadline.ts'
import type { Step } from './definition.ts'
import { nextStep, type Passed, StepMismatch } from './next-step.ts'

/** A step that has not begun. `begins_by`: when it begins if every wait takes its whole time and nothing is tried again; null: that is open. */
export type StepAhead = { step: Step; begins_by: string | null }

/** When what follows a step begins at the latest; null: that depends on which of its nested steps are done. */
function endOf(step: Step, begins: string | null): string | null {
  if (begins === null) return null
  switch (step.type) {
    case 'delay':
      return deadlineAfter(begins, step.duration)
    case 'wait_until':
      return nextInstantAt(begins, step.time, step.timezone)
    case 'wait_for_event':
      return step.on_timeout.some(waits) ? null : deadlineAfter(begins, step.timeout)
    case 'branch':
      return [...step.then, ...step.else].some(waits) ? null : begins
    default:
      return begins
  }
}

/** Whether an exit is nested in a step. Then it is open whether the run goes on after that step. */
function mayExit(step: Step): boolean {
  const nested = step.type === 'branch' ? [...step.then, ...step.else] : step.type === 'wait_for_event' ? step.on_timeout : []
  return nested.some(one => one.type === 'exit' || mayExit(one))
}

const isWait = ({ type }: Step) => type === 'delay' || type === 'wait_until' || type === 'wait_for_event'
const waits = (step: Step): boolean => (step.type === 'branch' ? [...step.then, ...step.else].some(waits) : isWait(step))

/**
 * The steps that follow the present one of an unfinished run, as far as that is certain: of a branch that is ahead itself, and of the time-out of a
 * wait, only the branch and the wait, and nothing behind them if an exit is nested there. `now` and times as Postgres writes them.
 */
export function stepsAhead(steps: Step[], timeline: readonly (Passed & { due_at: string | null })[], now: string): StepAhead[] {
  let next: ReturnType<typeof nextStep>['next']
  try {
    next = nextStep(steps, timeline).next
  } catch (error) {
    if (error instanceof StepMismatch) return []
    throw error
  }
  if (!next) return []
  const recorded = timeline[next.n]
  const rest = mayExit(next.step) ? [] : following(steps, next.step)
  // The end of an effect that is tried again or of a delivery is open.
  let at = recorded === undefined ? now : isWait(next.step) && endOf(next.step, now) !== null ? recorded.due_at : null
  const ahead: StepAhead[] = []
  for (const step of recorded === undefined ? [next.step, ...rest] : rest) {
    ahead.push({ step, begins_by: at })
    if (step.type === 'exit' || mayExit(step)) break
    at = endOf(step, at)
  }
  return ahead
}

/** The steps after this one: in its own list, and then after each step that it is nested in. */
function following(steps: readonly Step[], step: Step): Step[] {
  const find = (list: readonly Step[]): Step[] | null => {
    for (const [i, one] of list.entries()) {
      const after = list.slice(i + 1)
      if (one.id === step.id) return after
      const nested = one.type === 'branch' ? [one.then, one.else] : one.type === 'wait_for_event' ? [one.on_timeout] : []
      for (const inner of nested) {
        const found = find(inner)
        if (found) return [...found, ...after]
      }
    }
    return null
  }
  return find(steps) ?? []
}

/** A step without the steps that are nested in it. */
export function withoutNested(step: Step): Record<string, unknown> {
  const { on_timeout: _timeout, then: _then, else: _else, ...own } = step as Step & Record<'on_timeout' | 'then' | 'else', unknown>
  return own
}

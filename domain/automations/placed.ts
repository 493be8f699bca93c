import type { Step } from './data.ts'

/** A step and where it stands: `field` as errors name it, `depth` from 1. */
export type Placed = { step: Step; field: string; depth: number }

/** The lists that are nested in a step, by the field that holds them. */
function nestedLists(step: Step): [field: string, steps: Step[]][] {
  if (step.type === 'branch')
    return [
      ['then', step.then],
      ['else', step.else],
    ]
  return step.type === 'wait_for_event' ? [['on_timeout', step.on_timeout]] : []
}

/** All steps of all levels, each before those that are nested in it. */
export function placedSteps(steps: readonly Step[], field = 'data.steps', depth = 1): Placed[] {
  return steps.flatMap((step, i) => {
    const at = `${field}[${i}]`
    const nested = nestedLists(step).flatMap(([name, list]) => placedSteps(list, `${at}.${name}`, depth + 1))
    return [{ step, field: at, depth }, ...nested]
  })
}

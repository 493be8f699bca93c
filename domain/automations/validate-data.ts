import { DateTime, Duration } from 'luxon'
import { NO_EVENT_TYPE, slugOf } from '../events/catalogue.ts'
import type { Detail } from '../kernel/refusal.ts'
import { isZone, NO_ZONE } from '../kernel/time/local-time.ts'
import { propertyFault } from '../users/properties.ts'
import { type AutomationData, awaitedEvents, type LocatedStep, locatedSteps, type Step } from './automation-runs/definition.ts'

/** The shortest and the longest duration that is allowed, as ISO 8601 durations. */
type Bounds = { least: string; most: string }
const WAIT: Bounds = { least: 'PT1S', most: 'P1Y' }
const GRANT: Bounds = { least: 'PT1M', most: 'P10Y' }

// Years and months have no length of their own: they are counted from the beginning of a leap year, so that 366 days are at most a year.
const START = DateTime.utc(2000, 1, 1)
const lengthOf = (duration: string) => START.plus(Duration.fromISO(duration)).toMillis()

/** Why a duration is out of its bounds; null when it is within them. The description checks its form. */
function durationFault(duration: string, { least, most }: Bounds): string | null {
  const length = lengthOf(duration)
  return length >= lengthOf(least) && length <= lengthOf(most) ? null : `must be ${least} to ${most}`
}

const MAX_STEPS = 50
const MAX_DEPTH = 5

/** The faults of a step by itself: [its field, why]. */
function stepFault(step: Step): [field: string, why: string | null][] {
  switch (step.type) {
    case 'delay':
      return [['duration', durationFault(step.duration, WAIT)]]
    case 'wait_until':
      return [['timezone', isZone(step.timezone) ? null : NO_ZONE]]
    case 'wait_for_event':
      return [
        ...awaitedEvents(step).map((event, i): [string, string | null] => [
          typeof step.event === 'string' ? 'event' : `event[${i}]`,
          slugOf(event) === null ? NO_EVENT_TYPE : null,
        ]),
        ['timeout', durationFault(step.timeout, WAIT)],
      ]
    case 'grant_entitlement':
      return [['duration', step.duration === null ? null : durationFault(step.duration, GRANT)]]
    case 'set_property': {
      const fault = propertyFault(step)
      return [[fault?.in ?? 'key', fault?.error ?? null]]
    }
    default:
      return []
  }
}

function structureFaults(located: LocatedStep[]): Detail[] {
  const seen = new Map<string, string>()
  const faults: Detail[] = []
  for (const { step, field, depth } of located) {
    const first = seen.get(step.id)
    if (first !== undefined) faults.push({ field: `${field}.id`, message: `must be unique: ${first} has it` })
    else seen.set(step.id, field)
    if (depth === MAX_DEPTH + 1) faults.push({ field, message: `is nested deeper than ${MAX_DEPTH} levels` })
  }
  if (located.length > MAX_STEPS) faults.push({ field: 'data.steps', message: `must have at most ${MAX_STEPS} steps over all levels` })
  return faults
}

/** The faults of the data by itself: those that can be found without the database. */
export function dataFaults({ initiators, actions, steps }: AutomationData): Detail[] {
  const located = locatedSteps(steps ?? [])
  const events = initiators.flatMap(({ uid }, i) =>
    slugOf(uid) === null ? [{ field: `data.initiators[${i}].uid`, message: NO_EVENT_TYPE }] : [],
  )
  // Without initiators no run starts, so there may be nothing to do.
  const actionFaults =
    initiators.length > 0 && !steps && actions.push === undefined && actions.screen === undefined
      ? [{ field: 'data.actions', message: 'must name a push or a screen, unless there are steps' }]
      : []
  const stepFaults = located.flatMap(({ step, field }) =>
    stepFault(step).flatMap(([name, why]) => (why === null ? [] : [{ field: `${field}.${name}`, message: why }])),
  )
  return [...events, ...actionFaults, ...structureFaults(located), ...stepFaults]
}

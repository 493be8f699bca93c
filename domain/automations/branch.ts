import type { Db } from '../../store/connect.ts'
import type { RunOccurrence } from '../automation-runs/trigger.ts'
import { eventField } from '../automation-runs/trigger.ts'
import type { Environment } from '../environment.ts'
import { accepts, compareDecimals, compareText, isDecimal } from '../segments/compare.ts'
import { type Condition, segmentIdsIn } from '../segments/condition.ts'
import { holds } from '../segments/evaluate.ts'
import { loadProfile } from '../segments/profile.ts'
import type { Passed } from './walk.ts'

const EVENT = 'event:'
const STEP = 'step:'

/** What conditions are asked about. `event` is read only when one names it. `now`: in place of the environment's clock. */
export type BranchSubject = {
  user: string | null
  event: () => Promise<RunOccurrence | null>
  steps: readonly Passed[]
  now?: string
}

/** "Text or number", like properties: as numbers when both are; without a value only what asks for a difference is true. */
function meets({ comparator, value }: Condition, has: string | null): boolean {
  if (has === null) return comparator === 'ne' || comparator === 'not_contains'
  if (comparator === 'contains') return has.includes(value)
  if (comparator === 'not_contains') return !has.includes(value)
  return accepts(comparator, isDecimal(has) && isDecimal(value) ? compareDecimals(has, value) : compareText(has, value))
}

/** What a step came to: its outcome, the way it took, or its status; null when the run did not pass it. */
function stepValue(steps: readonly Passed[], id: string): string | null {
  const step = steps.find(passed => passed.step_id === id)
  if (!step) return null
  const result = step.result as { outcome?: string; taken?: string } | null
  return result?.outcome ?? result?.taken ?? step.status
}

/** Whether all conditions of a branch hold now; none at all do, without a query. Of an unknown user no metric of segments holds. */
export async function branchHolds(
  db: Db,
  environment: Environment,
  conditions: readonly Condition[],
  { user, event, steps, now }: BranchSubject,
): Promise<boolean> {
  const aboutUser: Condition[] = []
  let occurrence: RunOccurrence | null | undefined
  for (const condition of conditions) {
    const { metric, negate } = condition
    if (metric.startsWith(STEP)) {
      if (meets(condition, stepValue(steps, metric.slice(STEP.length))) === negate) return false
    } else if (metric.startsWith(EVENT)) {
      occurrence ??= await event()
      if (meets(condition, occurrence && eventField(occurrence, metric.slice(EVENT.length))) === negate) return false
    } else aboutUser.push(condition)
  }
  if (aboutUser.length === 0) return true
  const profile = user === null ? null : await loadProfile(db, environment, user, segmentIdsIn(aboutUser), now)
  return profile !== null && holds(aboutUser, profile)
}

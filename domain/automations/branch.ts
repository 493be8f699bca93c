import type { Db } from '../../store/connect.ts'
import { type Condition, segmentIdsIn } from '../audience/segments/condition.ts'
import { allConditionsMet, meetsValue } from '../audience/segments/evaluate.ts'
import { loadProfile } from '../audience/segments/profile.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Passed } from './automation-runs/next-step.ts'
import { eventField, type RunOccurrence } from './automation-runs/trigger.ts'
import { eventFieldOf, stepNamedBy } from './conditions.ts'

/** The subject of the conditions. `event` is read only when a condition names it. `now`: in place of the environment's clock. */
export type BranchSubject = {
  user: string | null
  event: () => Promise<RunOccurrence | null>
  steps: readonly Passed[]
  now?: string
}

/** The outcome of a step, the branch that it took, or its status; null when the run did not pass it. */
function stepValue(steps: readonly Passed[], id: string): string | null {
  const step = steps.find(passed => passed.step_id === id)
  if (!step) return null
  const result = step.result as { outcome?: string; taken?: string } | null
  return result?.outcome ?? result?.taken ?? step.status
}

/** Whether all conditions of a branch are true now. No conditions are true, without a query. For an unknown user no metric of segments is true. */
export async function meetsConditions(
  db: Db,
  environment: Environment,
  conditions: readonly Condition[],
  { user, event, steps, now }: BranchSubject,
): Promise<boolean> {
  if (conditions.length === 0) return true
  const aboutUser: Condition[] = []
  let occurrence: RunOccurrence | null | undefined
  for (const condition of conditions) {
    const { metric, comparator, value, negate } = condition
    const [step, field] = [stepNamedBy(metric), eventFieldOf(metric)]
    if (step !== null) {
      if (meetsValue(comparator, stepValue(steps, step), value) === negate) return false
    } else if (field !== null) {
      occurrence ??= await event()
      if (meetsValue(comparator, occurrence && eventField(occurrence, field), value) === negate) return false
    } else aboutUser.push(condition)
  }
  if (aboutUser.length === 0) return true
  const profile = user === null ? null : await loadProfile(db, environment, user, segmentIdsIn(aboutUser), now)
  return profile !== null && allConditionsMet(aboutUser, profile)
}

import { nextInstantAt } from '../../../domain/automation-runs/deadline.ts'
import type { StepKinds } from '../step-kind.ts'
import { untilDeadline } from './until-deadline.ts'

export const waitUntil: StepKinds['wait_until'] = {
  by: 'decision',
  decide: input => untilDeadline(input, () => nextInstantAt(input.began, input.step.time, input.step.timezone)),
}

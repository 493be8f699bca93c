import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import type { StepKinds } from '../step-kind.ts'
import { untilDeadline } from './until-deadline.ts'

export const delay: StepKinds['delay'] = {
  by: 'decision',
  decide: input => untilDeadline(input, () => deadlineAfter(input.began, input.step.duration)),
}

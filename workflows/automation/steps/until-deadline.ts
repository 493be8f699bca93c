import { timeOf } from '../../../domain/automation-runs/deadline.ts'
import { wireTime } from '../../../store/connect.ts'
import { type StepInput, succeeded, type Verdict } from '../step-kind.ts'

/** Over once the deadline, which is stored when the step begins, has passed; asked too early the run goes on resting. */
export function untilDeadline({ recorded, now }: Pick<StepInput, 'recorded' | 'now'>, deadline: () => string): Verdict {
  const due = recorded?.due_at ?? deadline()
  return timeOf(due) <= timeOf(now) ? succeeded({ due_at: wireTime(due) }, due) : { is: 'waiting', until: due }
}

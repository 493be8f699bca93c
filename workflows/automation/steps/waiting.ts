import { deadlineAfter, nextInstantAt, timeOf } from '../../../domain/automations/automation-runs/deadline.ts'
import { awaitedEvents } from '../../../domain/automations/automation-runs/definition.ts'
import { beginWait, checkWait } from '../../../domain/automations/automation-runs/waits.ts'
import { apiTime } from '../../../store/connect.ts'
import { type StepContext, type StepKinds, type StepOutcome, succeeded } from '../step-kind.ts'

/** Ends once the deadline has passed. The deadline is stored when the step begins; an execution before it lets the run wait on. */
function untilDeadline({ recorded, now }: Pick<StepContext, 'recorded' | 'now'>, deadline: () => string): StepOutcome {
  const due = recorded?.due_at ?? deadline()
  return timeOf(due) <= timeOf(now) ? succeeded({ due_at: apiTime(due) }, due) : { is: 'waiting', until: due }
}

export const delayStep: StepKinds['delay'] = {
  by: 'decision',
  decide: context => untilDeadline(context, () => deadlineAfter(context.began, context.step.duration)),
}

export const waitUntilStep: StepKinds['wait_until'] = {
  by: 'decision',
  decide: context => untilDeadline(context, () => nextInstantAt(context.began, context.step.time, context.step.timezone)),
}

export const waitForEventStep: StepKinds['wait_for_event'] = {
  by: 'transaction',
  async transact(tx, { step, run, timeline, recorded, began }) {
    const isWaiting = recorded?.status === 'waiting'
    const deadline = isWaiting ? recorded.due_at! : deadlineAfter(began, step.timeout)
    const wait = { events: awaitedEvents(step), deadline }
    const awaited = isWaiting ? await checkWait(tx, run, wait) : await beginWait(tx, run, timeline, wait)
    return awaited ? succeeded({ ...awaited, due_at: apiTime(deadline) }, deadline) : { is: 'waiting', until: deadline }
  },
}

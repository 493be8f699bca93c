import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { beginWait, checkWait } from '../../../domain/automation-runs/waits.ts'
import { wireTime } from '../../../store/connect.ts'
import { type StepKinds, succeeded } from '../step-kind.ts'

export const waitForEvent: StepKinds['wait_for_event'] = {
  by: 'transaction',
  async transact(tx, { step, run, timeline, recorded, began }) {
    const isWaiting = recorded?.status === 'waiting'
    const deadline = isWaiting ? recorded.due_at! : deadlineAfter(began, step.timeout)
    const wait = { event: step.event, deadline }
    const awaited = isWaiting ? await checkWait(tx, run, wait) : await beginWait(tx, run, timeline, wait)
    return awaited ? succeeded({ ...awaited, due_at: wireTime(deadline) }, deadline) : { is: 'waiting', until: deadline }
  },
}

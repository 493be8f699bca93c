import type { Tx } from '../../../store/connect.ts'
import { createRun } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { applyMissedPolicy } from './missed-policy.ts'
import { recordSlot } from './record-run.ts'
import type { ReportRow } from './report.ts'
import { REPORT_WORKFLOW } from './run.ts'
import { isoOf, moveSlot } from './slot-job.ts'
import { nextSlot, type Slot, slotsAfter } from './slots.ts'

/**
 * Takes the next slot, which is due at `at`: records its run, or the reason why it does not run, and moves the locked report to the slot
 * after it.
 */
export async function takeDueSlot(tx: Tx, environment: Environment, report: ReportRow, slot: Slot, at: number): Promise<ReportRow> {
  const decision = applyMissedPolicy(report, report.missed, slot, at)
  const run = await recordSlot(tx, environment, report, slot, decision === 'run' ? null : { outcome: 'skipped', reason: decision })
  const isNew = decision === 'run' && run !== null
  if (isNew) await createRun(tx, environment, { ...REPORT_WORKFLOW, subject: run })
  const next_from = decision === 'dst_gap' ? report.next_from : null
  const next = nextSlot(report, slot.at).at
  await moveSlot(tx, environment, report.number, { next, last: { at: slot.at, next_from, runs: isNew ? 1 : 0 } })
  return { ...report, last_slot: isoOf(slot.at), next_slot: isoOf(next), next_from }
}

/** Takes all slots that are due at `at`, in order. */
export async function takeDueSlots(tx: Tx, environment: Environment, report: ReportRow, at: number): Promise<ReportRow> {
  let taken = report
  for (const slot of slotsAfter(report, Date.parse(report.last_slot!))) {
    if (slot.at > at) break
    taken = await takeDueSlot(tx, environment, taken, slot, at)
  }
  return taken
}

import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { type Environment, now } from '../environment.ts'
import { createRun } from '../runs/create.ts'
import { fateOf } from './fate.ts'
import { isoOf, promiseSlot } from './promise.ts'
import { recordSlot } from './record-run.ts'
import { REPORT_COLUMNS, REPORT_SLOT, type ReportRow } from './report.ts'
import { REPORT_WORKFLOW } from './run.ts'
import { nextSlot } from './slots.ts'

/**
 * Takes the report's next slot, if it is due: its run, or why there is none, and the promise of the slot after it in one transaction.
 * One slot only, however many are due: the next is announced at once. False when there was nothing to take.
 */
export const takeSlot = (pool: Pool, number: number): Promise<boolean> => transaction(pool, tx => take(tx, number))

async function take(tx: Tx, number: number): Promise<boolean> {
  // Two workers with the same ring: the second one waits here, and finds the slot taken.
  const { rows } = await tx.query<ReportRow & { environment: Environment }>({
    name: 'hold-report-by-number',
    text: `select environment, ${REPORT_COLUMNS} from scheduled_reports
           where number = $1 and deleted_at is null and next_slot is not null for no key update`,
    values: [number],
  })
  const report = rows[0]
  if (!report) {
    await tx.query('delete from due where kind = $1 and id = $2', [REPORT_SLOT, number])
    return false
  }
  const { environment } = report
  const at = Date.parse(await now(tx, environment))
  // From the schedule, not from what was promised: the rules of a zone may have changed since.
  const slot = nextSlot(report, Date.parse(report.last_slot!))
  if (slot.at > at) {
    if (slot.at !== Date.parse(report.next_slot!)) await moveOn(tx, environment, report, { next: slot.at })
    return false
  }
  const fate = fateOf(report, report.missed, slot, at)
  const run = await recordSlot(tx, environment, report, slot, fate === 'run' ? null : { outcome: 'skipped', reason: fate })
  const starts = fate === 'run' && run !== null
  if (starts) await createRun(tx, environment, { ...REPORT_WORKFLOW, subject: run })
  await moveOn(tx, environment, report, { next: nextSlot(report, slot.at).at, last: slot.at, runs: starts ? 1 : 0 })
  return true
}

type Move = { next: number; last?: number; runs?: number }

async function moveOn(tx: Tx, environment: Environment, { number }: ReportRow, { next, last, runs = 0 }: Move): Promise<void> {
  await tx.query({
    name: 'move-on',
    text: 'update scheduled_reports set next_slot = $2, last_slot = coalesce($3, last_slot), runs = runs + $4 where number = $1',
    values: [number, isoOf(next), last === undefined ? null : isoOf(last), runs],
  })
  await promiseSlot(tx, environment, number, next)
}

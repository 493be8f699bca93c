import type { Tx } from '../../store/connect.ts'
import { type Environment, now } from '../environment.ts'
import { endReport } from './end-runs.ts'
import { promiseSlot } from './promise.ts'
import { holdReport, type ReportRow } from './report.ts'

/** No further slots, and an end to what is due or under way. The row stays: runs and the ledger know of it. */
export async function deleteReport(tx: Tx, environment: Environment, id: string): Promise<ReportRow> {
  const report = await holdReport(tx, environment, id)
  const at = await now(tx, environment)
  await endReport(tx, environment, report, 'report_deleted', at)
  await promiseSlot(tx, environment, report.number, null)
  await tx.query('update scheduled_reports set deleted_at = $3, next_slot = null where environment = $1 and id = $2', [environment, id, at])
  return report
}

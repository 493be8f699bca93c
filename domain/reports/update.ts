import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../store/connect.ts'
import { type Environment, now } from '../environment.ts'
import { checkReport } from './create.ts'
import { lockDestinations } from './destinations.ts'
import { endReport } from './end-runs.ts'
import { lockReport, REPORT_COLUMNS, type ReportRequest, type ReportRow, writtenColumns } from './report.ts'
import { isoOf, scheduleSlot } from './slot-job.ts'
import { nextSlot } from './slots.ts'

/** `before` is null when the report was so already: nothing was changed then. */
export type ReportChange = { before: ReportRow | null; after: ReportRow }

/**
 * Replaces what the caller says of a report. A changed schedule goes on after the last slot taken, so that no time is left out; one
 * that becomes active begins after now; one set to draft withholds what is due or under way.
 */
export async function updateReport(tx: Tx, environment: Environment, id: string, request: ReportRequest): Promise<ReportChange> {
  const before = await lockReport(tx, environment, id)
  checkReport(request)
  const { input, destinationIds } = request
  const destinations = await lockDestinations(tx, environment, destinationIds)
  const wanted: ReportRow = { ...before, ...input, destinations }
  if (isDeepStrictEqual(wanted, before)) return { before: null, after: before }
  const at = await now(tx, environment)
  if (before.status === 'active' && input.status === 'draft') await endReport(tx, environment, before, 'report_paused', at)
  const last = before.status === 'active' ? before.last_slot : laterOf(before.last_slot, at)
  const next = input.status === 'active' ? nextSlot(input, Date.parse(last!)).at : null
  const { rows } = await tx.query<ReportRow>(
    `update scheduled_reports set report_name = $3, send_at = $4, included_range_days = $5, status = $6, destinations = $7, timezone = $8,
       cadence = $9, weekday = $10, day_of_month = $11, missed = $12, on_dst_gap = $13, on_dst_overlap = $14, format = $15, next_slot = $16,
       last_slot = coalesce($17, last_slot), updated_at = $18
     where environment = $1 and id = $2 returning ${REPORT_COLUMNS}`,
    [environment, id, ...writtenColumns(input, destinations), next === null ? null : isoOf(next), next === null ? null : last, at],
  )
  await scheduleSlot(tx, environment, before.number, next)
  return { before, after: rows[0]! }
}

const laterOf = (slot: string | null, at: string): string => (slot !== null && slot > at ? slot : at)

/** No further slots, and an end to what is due or under way. The row stays: runs and the ledger know of it. */
export async function deleteReport(tx: Tx, environment: Environment, id: string): Promise<ReportRow> {
  const report = await lockReport(tx, environment, id)
  const at = await now(tx, environment)
  await endReport(tx, environment, report, 'report_deleted', at)
  await scheduleSlot(tx, environment, report.number, null)
  await tx.query('update scheduled_reports set deleted_at = $3, next_slot = null where environment = $1 and id = $2', [environment, id, at])
  return report
}

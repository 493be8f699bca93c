import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../../store/connect.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { chartsToKeep } from './chart-questions.ts'
import { validateReport } from './create.ts'
import { lockDestinations, needsFormulaGuard } from './destinations.ts'
import { endReport } from './end-runs.ts'
import { inputValues, lockReport, REPORT_COLUMNS, type ReportInput, type ReportRequest, type ReportRow } from './report.ts'
import { firstPosition, positionAfterChange, type SlotPosition } from './schedule-change.ts'
import { scheduleSlot } from './slot-job.ts'

/** `before` is null when the request changes nothing. */
type ReportChange = { before: ReportRow | null; after: ReportRow }

/**
 * Replaces the fields of a report that a request gives. The first slot of a report that becomes active, and of a changed schedule, is after
 * now; slots that were due before a change of the schedule are taken first. A report that becomes a draft withholds its due slots and its
 * unfinished runs.
 */
export async function updateReport(tx: Tx, environment: Environment, id: string, request: ReportRequest): Promise<ReportChange> {
  const before = await lockReport(tx, environment, id)
  validateReport(request)
  const { input, destinationIds, own } = request
  const charts = await chartsToKeep(tx, environment, input, own, before)
  const destinations = await lockDestinations(tx, environment, destinationIds)
  const formula_guard = input.formula_guard ?? (await needsFormulaGuard(tx, environment, destinationIds))
  const requested: ReportRow = { ...before, ...input, destinations, formula_guard, charts }
  if (isDeepStrictEqual(requested, before)) return { before: null, after: before }
  const at = await now(tx, environment)
  if (before.status === 'active' && input.status === 'draft') await endReport(tx, environment, before, 'report_paused', at)
  const position = input.status === 'active' ? await activePosition(tx, environment, before, input, at) : null
  const { rows } = await tx.query<ReportRow>(
    `update scheduled_reports set report_name = $3, send_at = $4, included_range_days = $5, status = $6, destinations = $7, timezone = $8,
       cadence = $9, weekday = $10, day_of_month = $11, missed = $12, on_dst_gap = $13, on_dst_overlap = $14, format = $15, type = $16, include = $17, next_slot = $18,
       last_slot = coalesce($19, last_slot), next_from = $20, updated_at = $21, formula_guard = $22, charts = $23, view_id = $24
     where environment = $1 and id = $2 returning ${REPORT_COLUMNS}`,
    [
      environment,
      id,
      ...inputValues(input, destinations),
      position?.next_slot ?? null,
      position?.last_slot ?? null,
      position?.next_from ?? null,
      at,
      formula_guard,
      JSON.stringify(charts),
      input.view_id,
    ],
  )
  await scheduleSlot(tx, environment, before.number, position && Date.parse(position.next_slot!))
  return { before, after: rows[0]! }
}

const activePosition = async (
  tx: Tx,
  environment: Environment,
  before: ReportRow,
  input: ReportInput,
  at: string,
): Promise<SlotPosition> =>
  before.status === 'active' ? positionAfterChange(tx, environment, before, input, at) : firstPosition(input, at, before.last_slot)

/** Deletes softly: ends the report, its due slots and its unfinished runs. The row stays, because runs and the ledger name the report. */
export async function deleteReport(tx: Tx, environment: Environment, id: string): Promise<ReportRow> {
  const report = await lockReport(tx, environment, id)
  const at = await now(tx, environment)
  await endReport(tx, environment, report, 'report_deleted', at)
  await scheduleSlot(tx, environment, report.number, null)
  await tx.query('update scheduled_reports set deleted_at = $3, next_slot = null where environment = $1 and id = $2', [environment, id, at])
  return report
}

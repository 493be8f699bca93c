import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { type Detail, invalidFields } from '../../kernel/refusal.ts'
import { isZone, NO_ZONE } from '../../kernel/time/local-time.ts'
import { OF_CHARTS, takesIncluded } from '../exports/export.ts'
import { chartsToKeep } from './chart-questions.ts'
import { lockDestinations, needsFormulaGuard } from './destinations.ts'
import { inputValues, REPORT_COLUMNS, type ReportRequest, type ReportRow } from './report.ts'
import { firstPosition } from './schedule-change.ts'
import { scheduleSlot } from './slot-job.ts'
import type { Schedule } from './slots.ts'

/** What a schema cannot say of a schedule. */
export function scheduleFaults({ timezone, cadence, weekday, day_of_month }: Schedule): Detail[] {
  const faults: Detail[] = []
  const requireOnlyFor = (only: string, field: string, value: unknown) => {
    if (cadence === only && value === null) faults.push({ field, message: `is required for ${only}` })
    if (cadence !== only && value !== null) faults.push({ field, message: `must be null unless cadence is ${only}` })
  }
  if (!isZone(timezone)) faults.push({ field: 'timezone', message: NO_ZONE })
  requireOnlyFor('weekly', 'weekday', weekday)
  requireOnlyFor('monthly', 'day_of_month', day_of_month)
  return faults
}

/** Validates what a schema cannot express. Throws `invalid_data` with all faults. */
export function validateReport({ input, destinationIds, faults: known }: ReportRequest): void {
  const { cadence, included_range_days: days } = input
  const faults: Detail[] = [...known]
  if (input.include.length > 0 && !takesIncluded(input.type)) faults.push({ field: 'include', message: `must be empty for ${input.type}` })
  if (cadence !== 'monthly' && ![1, 3, 7].includes(days))
    faults.push({ field: 'included_range_days', message: 'must be 1, 3 or 7 unless cadence is monthly' })
  if (input.type === OF_CHARTS && input.format !== 'csv' && input.format !== 'html')
    faults.push({ field: 'format', message: 'must be csv or html for charts' })
  if (input.type !== OF_CHARTS && input.format === 'html')
    faults.push({ field: 'format', message: 'must not be html unless type is charts' })
  if (input.type !== OF_CHARTS && input.charts.length > 0) faults.push({ field: 'charts', message: 'must be empty unless type is charts' })
  if (input.type !== OF_CHARTS && input.view_id !== null) faults.push({ field: 'view_id', message: 'must be null unless type is charts' })
  faults.push(...scheduleFaults(input))
  for (const [i, id] of destinationIds.entries())
    if (destinationIds.indexOf(id) < i) faults.push({ field: `destinations[${i}].id`, message: 'must be named once' })
  if (faults.length > 0) throw invalidFields(faults)
}

/** Creates a report. An active report gets a job for its first slot, which is after now. */
export async function createReport(tx: Tx, environment: Environment, request: ReportRequest): Promise<ReportRow> {
  validateReport(request)
  const { input, destinationIds, own } = request
  const charts = await chartsToKeep(tx, environment, input, own)
  const destinations = await lockDestinations(tx, environment, destinationIds)
  const guard = input.formula_guard ?? (await needsFormulaGuard(tx, environment, destinationIds))
  const createdAt = await now(tx, environment)
  const first = input.status === 'active' ? firstPosition(input, createdAt) : null
  const { rows } = await tx.query<ReportRow>(
    `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence,
       weekday, day_of_month, missed, on_dst_gap, on_dst_overlap, format, type, include, next_slot, last_slot, next_from, created_at, updated_at, formula_guard, charts, view_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $21, $22, $23, $24) returning ${REPORT_COLUMNS}`,
    [
      environment,
      orderedId('rep'),
      ...inputValues(input, destinations),
      first?.next_slot ?? null,
      first?.last_slot ?? null,
      first?.next_from ?? null,
      createdAt,
      guard,
      JSON.stringify(charts),
      input.view_id,
    ],
  )
  if (first) await scheduleSlot(tx, environment, rows[0]!.number, Date.parse(first.next_slot))
  return rows[0]!
}

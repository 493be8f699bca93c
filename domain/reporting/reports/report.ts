import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, notFound } from '../../kernel/refusal.ts'
import type { IncludedColumn } from '../exports/columns.ts'
import { type FileFormat, type FileType, OF_CHARTS } from '../exports/export.ts'
import { daysBefore, type ReportChart } from './chart-window.ts'
import type { MissedPolicy } from './missed-policy.ts'
import { type Schedule, type Slot, windowOf } from './slots.ts'

/** Kind of the jobs of slots. A job's id is the report's number. */
export const REPORT_SLOT_DUE = 'report-slot'

export type Destination = { type: 'target_integration'; id: string; label: string }

/** The fields of a report that a request gives. */
export type ReportInput = Schedule & {
  report_name: string
  /** 1, 3 or 7; up to 31 with the cadence monthly. */
  included_range_days: number
  status: 'draft' | 'active'
  missed: MissedPolicy
  format: FileFormat
  type: FileType
  include: IncludedColumn[]
  /** Of the type charts: these, or the question of a saved view, of which a stored report has a copy. */
  charts: ReportChart[]
  view_id: string | null
}

/**
 * `formula_guard` null or absent: the destinations decide. `own`: the number of the environment in the API of figures. `faults`: faults that the caller
 * has found already.
 */
export type ReportRequest = {
  input: ReportInput & { formula_guard?: boolean | null }
  destinationIds: string[]
  own: 0 | 1
  faults: Detail[]
}

/**
 * The report's slots follow after `last_slot`. `next_slot` null: a draft. `last_slot` null: never active. `next_from`: where the window of the
 * next slot begins at the latest; null: nothing but the schedule decides that.
 */
export type ReportRow = ReportInput & {
  id: string
  number: number
  formula_guard: boolean
  destinations: Destination[]
  runs: number
  next_slot: string | null
  last_slot: string | null
  next_from: string | null
  created_at: string
  updated_at: string
}

export const REPORT_COLUMNS = `id, number, report_name, send_at, included_range_days, status, destinations, timezone, cadence, weekday, day_of_month,
  missed, on_dst_gap, on_dst_overlap, format, type, include, formula_guard, charts, view_id, runs, next_slot, last_slot, next_from, created_at, updated_at`

/** The window of the report's next slot. Charts of any time can be asked at any time: after a change of the schedule no time is left out. */
export function nextWindow(report: ReportRow, slot: Slot): { from: number; to: number } {
  if (report.type === OF_CHARTS) return daysBefore(report.timezone, report.included_range_days, slot.at)
  const { from, to } = windowOf(report, report.included_range_days, slot)
  return { from: report.next_from === null ? from : Math.min(from, Date.parse(report.next_from)), to }
}

export async function getReport(db: Db, environment: Environment, id: string): Promise<ReportRow> {
  const { rows } = await db.query<ReportRow>(
    `select ${REPORT_COLUMNS} from scheduled_reports where environment = $1 and id = $2 and deleted_at is null`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('report')
  return rows[0]
}

/** The report, locked: until the transaction ends no worker takes a slot of it. */
export async function lockReport(tx: Tx, environment: Environment, id: string): Promise<ReportRow> {
  const { rows } = await tx.query<ReportRow>(
    `select ${REPORT_COLUMNS} from scheduled_reports where environment = $1 and id = $2 and deleted_at is null for no key update`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('report')
  return rows[0]
}

/** Newest first; one row more than `limit` if there are more. */
export async function listReports(
  db: Db,
  environment: Environment,
  { limit, offset }: { limit: number; offset: number },
): Promise<ReportRow[]> {
  const { rows } = await db.query<ReportRow>(
    `select ${REPORT_COLUMNS} from scheduled_reports where environment = $1 and deleted_at is null
     order by created_at desc, id desc limit $2 offset $3`,
    [environment, limit + 1, offset],
  )
  return rows
}

/** The values of the columns from `report_name` to `include`, in the order of `REPORT_COLUMNS`. */
export const inputValues = (input: ReportInput, destinations: unknown): unknown[] => [
  input.report_name,
  input.send_at,
  input.included_range_days,
  input.status,
  JSON.stringify(destinations),
  input.timezone,
  input.cadence,
  input.weekday,
  input.day_of_month,
  input.missed,
  input.on_dst_gap,
  input.on_dst_overlap,
  input.format,
  input.type,
  input.include,
]

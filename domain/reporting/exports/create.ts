import type { Db, Tx } from '../../../store/connect.ts'
import { opaqueId } from '../../../store/ids.ts'
import { lockSegments } from '../../audience/segments/missing.ts'
import { createRun } from '../../durable/jobs/workflow-run.ts'
import { cutWindow } from '../../events/window.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound, Refusal } from '../../kernel/refusal.ts'
import { type IncludedColumn, sortedIncluded } from './columns.ts'
import { lockErasureExclusive } from './erasure-lock.ts'
import { EXPORT_COLUMNS, EXPORT_TYPES, type ExportRow, type FileFormat, type FileType, OF_CHARTS } from './export.ts'

type NewExport = {
  type: FileType
  format: FileFormat
  compression: 'none' | 'gzip'
  /** Texts of a CSV that a spreadsheet may take for formulas get a quote before them. */
  formulaGuard?: boolean
  /** Additional columns. */
  include?: IncludedColumn[]
  platform: 'iOS' | 'Android' | 'Stripe' | null
  segment?: string | null
  /** null: from the beginning. */
  from: string | null
  /** null: up to now. */
  to: string | null
  /** Only customers who changed since then, in real time, of all times and segments. null: all. */
  updatedFrom?: string | null
  /** The report run that needs the export. */
  reportRun?: string
}

/** The begin that an export without one shows. */
const BEGINNING = '1970-01-01T00:00:00Z'

/** The workflow that writes an export, in the version that new runs start with. */
export const EXPORT_WORKFLOW = { workflow: 'export', version: 1 } as const

/** Whether the operator allows the environment's project to export raw data. */
export async function isRawDataOn(db: Db, environment: Environment): Promise<boolean> {
  const { rows } = await db.query<{ raw_data: boolean }>({
    name: 'is-raw-data-on',
    text: 'select p.raw_data from projects p join environments e on e.project = p.id where e.id = $1',
    values: [environment],
  })
  return rows[0]?.raw_data === true
}

/**
 * Accepts an export: cuts its window and creates its run, in one transaction. Throws `control_forbidden` when the operator has switched
 * raw data off, `not_found` for an unknown segment.
 */
export async function createExport(tx: Tx, environment: Environment, input: NewExport): Promise<ExportRow> {
  if (!(await isRawDataOn(tx, environment))) throw new Refusal('control_forbidden', 'raw data is switched off for this project')
  const segment = input.segment ?? null
  if (segment !== null && (await lockSegments(tx, environment, [segment])).length > 0) throw notFound('segment_id: segment')
  const row = await recordExport(tx, environment, input)
  await createRun(tx, environment, { ...EXPORT_WORKFLOW, subject: row.id })
  return row
}

/** Records an export with its final window. The caller is responsible for the run that writes the file. */
export async function recordExport(tx: Tx, environment: Environment, input: NewExport): Promise<ExportRow> {
  const { format, formulaGuard = false, include = [], reportRun = null, ...cut } = input
  const rows = await recordExports(tx, environment, cut, [{ id: opaqueId(), format, formulaGuard, include, reportRun }])
  return rows[0]!
}

type ExportFile = { id: string; format: FileFormat; formulaGuard: boolean; include: IncludedColumn[]; reportRun: string | null }

/** Records one export for each file. All of them have the same window, from one cut. */
export async function recordExports(
  tx: Tx,
  environment: Environment,
  input: Omit<NewExport, 'format' | 'formulaGuard' | 'include' | 'reportRun'>,
  files: ExportFile[],
): Promise<ExportRow[]> {
  await lockErasureExclusive(tx, environment)
  const { order, isState } = input.type === OF_CHARTS ? { order: null, isState: false } : EXPORT_TYPES[input.type]
  const [from, to] = isState ? [null, null] : [input.from, input.to]
  const window = await cutWindow(tx, environment, from ?? '-infinity', to ?? 'infinity')
  const { rows } = await tx.query<ExportRow>({
    name: 'record-exports',
    text: `insert into exports (environment, id, type, format, formula_guard, include, compression, platform, segment_id, from_timestamp, to_timestamp, window_from,
             window_to, from_offsets, to_offsets, report_run, created_at, updated_from, updated_to, settled_by)
           select $1, f.id, $2, f.format, f.formula_guard, string_to_array(f.include, ','), $3, $4, $5, $6, coalesce($7, t), $8, $9, $10, $11, f.report_run, t, $17,
             case when $17::timestamptz is not null then date_trunc('second', now()) end, case when $17::timestamptz is not null then pg_current_xact_id() end
           from environment_now($1) t, unnest($12::text[], $13::text[], $14::text[], $15::boolean[], $16::text[])
             f(id, format, report_run, formula_guard, include) returning ${EXPORT_COLUMNS}`,
    values: [
      environment,
      input.type,
      input.compression,
      input.platform,
      input.segment ?? null,
      input.from ?? BEGINNING,
      input.to,
      window.from,
      window.to,
      // Data outside of the log has no offsets: both ends are the log's offsets at the time of the cut.
      order === 'log' ? window.fromOffsets : window.toOffsets,
      window.toOffsets,
      files.map(({ id }) => id),
      files.map(({ format }) => format),
      files.map(({ reportRun }) => reportRun),
      files.map(({ formulaGuard }) => formulaGuard),
      files.map(({ include }) => sortedIncluded(include).join(',')),
      // The next edge is the beginning of this transaction: its id, and what it sees, come later. A file of a window or a segment has no edge, because its
      // own bounds leave out users who changed before.
      input.updatedFrom ?? null,
    ],
  })
  return rows
}

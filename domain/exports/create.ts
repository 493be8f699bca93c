import type { Db, Tx } from '../../store/connect.ts'
import { opaqueId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { cutWindow } from '../events/window.ts'
import { createRun } from '../jobs/workflow-run.ts'
import { notFound, Refusal } from '../refusal.ts'
import { lockSegments } from '../segments/missing.ts'
import { closeErasure } from './erasure-lock.ts'
import { EXPORT_COLUMNS, type ExportFormat, type ExportRow, type ExportType } from './export.ts'

export type NewExport = {
  type: ExportType
  format: ExportFormat
  compression: 'none' | 'gzip'
  platform: 'iOS' | 'Android' | 'Stripe' | null
  segment?: string | null
  from: string
  to: string
  /** The report run that it is made for. */
  reportRun?: string
}

/** The workflow that makes an export, by the version that new ones start with. */
export const EXPORT_WORKFLOW = { workflow: 'export', version: 1 } as const

/** Whether raw data may leave the project of the environment: the operator's switch. */
export async function isRawDataOn(db: Db, environment: Environment): Promise<boolean> {
  const { rows } = await db.query<{ raw_data: boolean }>({
    name: 'is-raw-data-on',
    text: 'select p.raw_data from projects p join environments e on e.project = p.id where e.id = $1',
    values: [environment],
  })
  return rows[0]?.raw_data === true
}

/**
 * Accepts an export: cuts its window and promises the run, in one transaction. 403 where the operator has switched raw data off, 404
 * when there is no such segment.
 */
export async function createExport(tx: Tx, environment: Environment, input: NewExport): Promise<ExportRow> {
  if (!(await isRawDataOn(tx, environment))) throw new Refusal('control_forbidden', 'raw data is switched off for this project')
  const segment = input.segment ?? null
  if (segment !== null && (await lockSegments(tx, environment, [segment])).length > 0) throw notFound('segment_id: segment')
  const row = await recordExport(tx, environment, input)
  await createRun(tx, environment, { ...EXPORT_WORKFLOW, subject: row.id })
  return row
}

/** The record of an export with its window, cut for good. Whoever asks for it sees to its making. */
export async function recordExport(tx: Tx, environment: Environment, input: NewExport): Promise<ExportRow> {
  const { format, reportRun = null, ...cut } = input
  const rows = await recordExports(tx, environment, cut, [{ id: opaqueId(), format, reportRun }])
  return rows[0]!
}

type File = { id: string; format: ExportFormat; reportRun: string | null }

/** As many exports of the same window as there are files of it, by one cut. */
export async function recordExports(
  tx: Tx,
  environment: Environment,
  input: Omit<NewExport, 'format' | 'reportRun'>,
  files: File[],
): Promise<ExportRow[]> {
  await closeErasure(tx, environment)
  const window = await cutWindow(tx, environment, input.from, input.to)
  const { rows } = await tx.query<ExportRow>({
    name: 'record-exports',
    text: `insert into exports (environment, id, type, format, compression, platform, segment_id, from_timestamp, to_timestamp, window_from,
             window_to, from_offsets, to_offsets, report_run, created_at)
           select $1, f.id, $2, f.format, $3, $4, $5, $6, $7, $8, $9, $10, $11, f.report_run, t
           from environment_now($1) t, unnest($12::text[], $13::text[], $14::text[]) f(id, format, report_run) returning ${EXPORT_COLUMNS}`,
    values: [
      environment,
      input.type,
      input.compression,
      input.platform,
      input.segment ?? null,
      input.from,
      input.to,
      window.from,
      window.to,
      // Users have no offsets: both ends tell the log's position when the window was cut.
      input.type === 'customers' ? window.toOffsets : window.fromOffsets,
      window.toOffsets,
      files.map(({ id }) => id),
      files.map(({ format }) => format),
      files.map(({ reportRun }) => reportRun),
    ],
  })
  return rows
}

import type { Tx } from '../../store/connect.ts'
import { opaqueId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { cutWindow } from '../events/window.ts'
import { notFound, Refusal } from '../refusal.ts'
import { createRun } from '../runs/create.ts'
import { holdSegments } from '../segments/missing.ts'
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
}

/** The workflow that makes an export, by the version that new ones start with. */
export const EXPORT_WORKFLOW = { workflow: 'export', version: 1 } as const

/**
 * Accepts an export: cuts its window and promises the run, in one transaction. 403 where the operator has switched raw data off, 404
 * when there is no such segment.
 */
export async function createExport(tx: Tx, environment: Environment, input: NewExport): Promise<ExportRow> {
  const allowed = await tx.query<{ raw_data: boolean }>(
    'select p.raw_data from projects p join environments e on e.project = p.id where e.id = $1',
    [environment],
  )
  if (!allowed.rows[0]?.raw_data) throw new Refusal('control_forbidden', 'raw data is switched off for this project')
  const segment = input.segment ?? null
  if (segment !== null && (await holdSegments(tx, environment, [segment])).length > 0) throw notFound('segment_id: segment')
  await closeErasure(tx, environment)
  const window = await cutWindow(tx, environment, input.from, input.to)
  const { rows } = await tx.query<ExportRow>(
    `insert into exports (environment, id, type, format, compression, platform, segment_id, from_timestamp, to_timestamp, window_from,
       window_to, from_offsets, to_offsets, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, environment_now($1)) returning ${EXPORT_COLUMNS}`,
    [
      environment,
      opaqueId(),
      input.type,
      input.format,
      input.compression,
      input.platform,
      segment,
      input.from,
      input.to,
      window.from,
      window.to,
      // Users have no offsets: both ends tell the log's position when the window was cut.
      input.type === 'customers' ? window.toOffsets : window.fromOffsets,
      window.toOffsets,
    ],
  )
  await createRun(tx, environment, { ...EXPORT_WORKFLOW, subject: rows[0]!.id })
  return rows[0]!
}

import { audit } from '../../../domain/kernel/audit/record.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { cancelExport } from '../../../domain/reporting/exports/cancel.ts'
import { createExport } from '../../../domain/reporting/exports/create.ts'
import {
  downloadUrl,
  EXPORT_TYPES,
  type ExportRow,
  type ExportType,
  getExport,
  listExports,
  takesIncluded,
} from '../../../domain/reporting/exports/export.ts'
import { exportManifest } from '../../../domain/reporting/exports/manifest.ts'
import { type ApiDeps, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { MAX_WINDOW_MS } from '../../time.ts'

const RETRY_AFTER = { 'Retry-After': '2' }

/** As far as the window alone tells: a file of all events has one row for each of its offsets of which no event was erased. */
const rowsExpected = ({ type, platform, segment_id, from_offsets, to_offsets }: ExportRow): number | null =>
  type === 'events' && platform === null && segment_id === null ? to_offsets.reduce((sum, to, i) => sum + to - from_offsets[i]!, 0) : null

const exported = (row: ExportRow, { secrets, publicUrl }: ApiDeps) => ({
  object: 'export' as const,
  id: row.id,
  url: `/v4/exports/${row.id}`,
  status: row.status,
  platform: row.platform,
  from_timestamp: row.from_timestamp,
  to_timestamp: row.to_timestamp,
  updated_from: row.updated_from,
  updated_to: row.status === 'done' ? row.updated_to : null,
  created_at: row.created_at,
  expires_at: row.expires_at,
  file_url: row.status === 'done' && !row.is_expired ? downloadUrl(secrets, publicUrl, row) : null,
  type: row.type,
  format: row.format,
  compression: row.compression,
  formula_guard: row.formula_guard,
  include: row.include,
  segment_id: row.segment_id,
  rows_written: row.rows_written,
  rows_expected: rowsExpected(row),
  error: row.error,
  manifest: exportManifest(row),
  report_id: row.report_id ?? null,
  report_run_id: row.report_run,
})

type Window = { type: ExportType; from: string | null; to: string | null; segment: string | null; updatedFrom: string | null }

/** How far the caller's clock may be ahead (ms). */
const AHEAD_MS = 300_000

/** Throws `invalid_data`. A file of state has no window, so it may leave it out; a file of changes takes none. */
function validateWindow({ type, from, to, segment, updatedFrom }: Window): void {
  if (updatedFrom !== null) {
    if (type !== 'customers') throw invalidField('updated_from', 'must be absent unless type is customers')
    if (Date.parse(updatedFrom) > Date.now() + AHEAD_MS) throw invalidField('updated_from', 'must not lie in the future')
    // The file states the edge at which the next one begins, so it must have everybody who changed before that edge.
    if (from !== null) throw invalidField('from_timestamp', 'must be absent with updated_from')
    if (to !== null) throw invalidField('to_timestamp', 'must be absent with updated_from')
    // A customer may join a segment without a write to the customer: by a grant, an experiment, new conditions, or the mere passing of
    // time.
    if (segment !== null) throw invalidField('segment_id', 'must be absent with updated_from')
  } else if (!EXPORT_TYPES[type].isState) {
    if (from === null) throw invalidField('from_timestamp', 'is required')
    if (to === null) throw invalidField('to_timestamp', 'is required')
  }
  if (from === null || to === null) return
  const length = Date.parse(to) - Date.parse(from)
  if (length <= 0) throw invalidField('to_timestamp', 'must be later than from_timestamp')
  if (length > MAX_WINDOW_MS) throw invalidField('to_timestamp', 'must be at most 366 days after from_timestamp')
}

export const v4CreateExport = inTransaction(
  'v4CreateExport',
  async ({ body, environment, trail, tx, deps }) => {
    const {
      from_timestamp: from = null,
      to_timestamp: to = null,
      type = 'events',
      format = 'csv',
      compression = 'none',
      formula_guard: formulaGuard = false,
      include = [],
      platform = null,
      segment_id = null,
      updated_from: updatedFrom = null,
    } = body
    validateWindow({ type, from, to, segment: segment_id, updatedFrom })
    if (format === 'parquet' && compression !== 'none') throw invalidField('compression', 'must be none for parquet')
    if (include.length > 0 && !takesIncluded(type)) throw invalidField('include', `must be empty for ${type}`)
    const row = await createExport(tx, environment, {
      type,
      format,
      compression,
      formulaGuard,
      include,
      platform,
      segment: segment_id,
      from,
      to,
      updatedFrom,
    })
    const made = exported(row, deps)
    await audit(tx, trail, { resource: 'export', id: made.id, after: made })
    return { body: made }
  },
  RETRY_AFTER,
)

export const v4ListExports = onPool('v4ListExports', async ({ query: { limit, starting_after }, environment, db, deps }) => {
  const { rows, restarted } = await listExports(db, environment, limit, starting_after)
  return {
    body: cursorPage({ url: '/v4/exports/history', rows, limit, item: row => exported(row, deps) }),
    headers: restartedHeader(restarted),
  }
})

export const v4GetExport = onPool('v4GetExport', async ({ path, environment, db, deps }) => {
  const row = await getExport(db, environment, path.export_id)
  return { body: exported(row, deps), headers: row.status === 'new' || row.status === 'processing' ? RETRY_AFTER : {} }
})

export const v4CancelExport = inTransaction('v4CancelExport', async ({ path, environment, trail, tx, deps }) => {
  const { before, after } = await cancelExport(tx, environment, path.export_id)
  const shown = exported(after, deps)
  if (before) await audit(tx, trail, { resource: 'export', id: shown.id, before: exported(before, deps), after: shown })
  return { body: shown }
})

import { COLUMNS_VERSION } from './columns.ts'
import type { ExportRow } from './export.ts'

type FinishedExport = Pick<ExportRow, 'status' | 'sha256' | 'bytes' | 'rows_written' | 'from_offsets' | 'to_offsets'>

/** The figures to check a finished file against; null until the export is finished. */
export function exportManifest({ status, sha256, bytes, rows_written: rows, from_offsets, to_offsets }: FinishedExport) {
  if (status !== 'done' || sha256 === null || bytes === null) return null
  return { rows, bytes, sha256, from_offsets, to_offsets, columns_version: COLUMNS_VERSION }
}

import type { ExportRow, FileType } from './export.ts'

type FinishedExport = Pick<ExportRow, 'type' | 'status' | 'sha256' | 'bytes' | 'rows_written' | 'from_offsets' | 'to_offsets'>

/** Increases with each column that the type gets; 1 where it has got none. Columns are only added at the end. */
const COLUMNS_VERSIONS: Partial<Record<FileType, number>> = { purchases_state: 2, subscriptions: 2 }

/** The figures to check a finished file against; null until the export is finished. */
export function exportManifest({ type, status, sha256, bytes, rows_written: rows, from_offsets, to_offsets }: FinishedExport) {
  if (status !== 'done' || sha256 === null || bytes === null) return null
  return { rows, bytes, sha256, from_offsets, to_offsets, columns_version: COLUMNS_VERSIONS[type] ?? 1 }
}

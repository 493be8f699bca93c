import { COLUMNS_VERSION } from './columns.ts'
import type { ExportRow } from './export.ts'

type Described = Pick<ExportRow, 'status' | 'sha256' | 'bytes' | 'rows_written' | 'from_offsets' | 'to_offsets'>

/** What a finished file holds, to check it against; null until it is finished. */
export function manifestOf({ status, sha256, bytes, rows_written: rows, from_offsets, to_offsets }: Described) {
  if (status !== 'done' || sha256 === null || bytes === null) return null
  return { rows, bytes, sha256, from_offsets, to_offsets, columns_version: COLUMNS_VERSION }
}

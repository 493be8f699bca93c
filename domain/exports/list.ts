import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { EXPORT_COLUMNS, type ExportRow } from './export.ts'

const LISTED = { table: 'exports', columns: EXPORT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listExports = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ExportRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

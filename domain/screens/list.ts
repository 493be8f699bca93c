import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { type ScreenSummaryRow, SUMMARY_COLUMNS } from './screen.ts'

const LISTED = { table: 'screens', columns: SUMMARY_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listScreens = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ScreenSummaryRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

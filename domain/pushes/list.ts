import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { PUSH_COLUMNS, type Push } from './push.ts'

const LISTED = { table: 'pushes', columns: PUSH_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listPushes = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Push>> =>
  pageOf(db, LISTED, environment, { limit, after })

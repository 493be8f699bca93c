import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { OFFERING_COLUMNS, type Offering } from './offering.ts'

const LISTED = { table: 'offerings', columns: OFFERING_COLUMNS, order: 'oldest' as const, only: 'variant_of is null' }

/** Oldest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listOfferings = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Offering>> =>
  pageOf(db, LISTED, environment, { limit, after })

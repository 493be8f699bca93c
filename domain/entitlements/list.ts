import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { ENTITLEMENT_COLUMNS, type Entitlement } from './definition.ts'

const LISTED = { table: 'entitlements', columns: ENTITLEMENT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listEntitlements = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Entitlement>> =>
  pageOf(db, LISTED, environment, { limit, after })

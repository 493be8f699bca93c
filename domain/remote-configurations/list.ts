import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { CONFIGURATION_COLUMNS, type Configuration } from './configuration.ts'

const LISTED = { table: 'remote_configurations', columns: CONFIGURATION_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listConfigurations = (
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<Page<Configuration>> => pageOf(db, LISTED, environment, { limit, after })

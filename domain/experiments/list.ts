import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { EXPERIMENT_COLUMNS, type Experiment } from './experiment.ts'

const LISTED = { table: 'experiments', columns: EXPERIMENT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listExperiments = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Experiment>> =>
  pageOf(db, LISTED, environment, { limit, after })

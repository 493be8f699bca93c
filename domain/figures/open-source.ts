import type { Pool } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { onPostgres } from './postgres.ts'
import type { FactSource } from './source.ts'

/** Marks that a question folds before it reads: who posted a purchase sees it in the next answer. */
const MARKS_FIRST = 200

/**
 * How figures reach the facts. `pool` is for what is small and known by keys, `scanning` (`scans`) for the facts. `drainMarks` folds up to so
 * many users whose facts may be out of date.
 */
export type FactAccess = {
  pool: Pool
  scanning: Pool
  drainMarks: (environment: Environment, most: number) => Promise<unknown>
}

/** Answers a question from the facts of one moment. */
export async function withFacts<T>(access: FactAccess, environment: Environment, work: (source: FactSource) => Promise<T>): Promise<T> {
  await access.drainMarks(environment, MARKS_FIRST)
  return onPostgres(access.scanning, environment, work)
}

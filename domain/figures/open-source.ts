import type { Pool } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { ProceedsRates } from '../events/money.ts'
import { drainMarks } from '../folding/fold-batch.ts'
import { onPostgres } from './postgres.ts'
import type { FactSource } from './source.ts'

/** Marks that a question folds before it reads: who posted a purchase sees it in the next answer. */
const MARKS_FIRST = 200

/**
 * How figures reach the facts. `pool` is for what is small and known by keys, `scanning` (`scans`) for the facts. `proceedsRates`: the shares
 * that count where no proceeds are stated.
 */
export type FactAccess = {
  pool: Pool
  scanning: Pool
  proceedsRates: ProceedsRates
}

/** Answers a question from the facts of one moment. */
export async function withFacts<T>(access: FactAccess, environment: Environment, work: (source: FactSource) => Promise<T>): Promise<T> {
  await drainMarks(access.pool, environment, MARKS_FIRST)
  return onPostgres(access.scanning, environment, work)
}

import { performance } from 'node:perf_hooks'
import { type Pool, STATEMENT_TIMEOUT_MS } from '../../../store/connect.ts'
import type { ProceedsRates } from '../../events/money.ts'
import type { Environment } from '../../kernel/environment.ts'
import { drainWithin } from '../folding/drain.ts'
import { onPostgres } from './postgres.ts'
import type { Replicas } from './replica/replicas.ts'
import type { FactSource } from './source.ts'

/** How many marks a question folds before it reads: a user who has just posted a purchase sees it in the next answer. */
const MARKS_FIRST = 200
/** The same before an answer with everything that was recorded. */
const MARKS_FIRST_FRESH = 2_000
/** Longer than this no question folds: one user with a long history would hold it up for seconds. */
const DRAIN_MS = 200

/**
 * The access of figures to the facts. `pool`: for small reads by keys; `scanning` (`scans`): for the facts. `replicas`: null where there
 * are none. `proceedsRates`: the shares that count where no proceeds are stated. `limitMs`: for one question; 30 s by default. `drainMs`:
 * for the folds of a question before it reads; 200 ms by default. `background`: nobody waits for the answers.
 */
export type FactAccess = {
  pool: Pool
  scanning: Pool
  replicas: Replicas | null
  proceedsRates: ProceedsRates
  limitMs?: number
  drainMs?: number
  background?: boolean
}

/** `behind`: so many users had changed and were not folded yet, counted up to 10,000. */
export type Answering = FactSource & { behind: number }

/**
 * Answers a question from the facts of one moment: those of now, or, unless it must be `fresh`, those that a replica has while it is being
 * brought up to date. `active`: the question needs the times at which users were active. The work must have no effect: where a replica
 * fails, the work is repeated on Postgres.
 */
export async function withFacts<T>(
  { pool, scanning, replicas, limitMs = STATEMENT_TIMEOUT_MS, drainMs = DRAIN_MS, background = false }: FactAccess,
  environment: Environment,
  work: (source: Answering) => Promise<T>,
  { fresh = false, active = false }: { fresh?: boolean; active?: boolean } = {},
): Promise<T> {
  const deadline = performance.now() + limitMs
  const behind = await drainWithin(pool, environment, fresh ? MARKS_FIRST_FRESH : MARKS_FIRST, drainMs)
  const workOn = (source: FactSource) => work({ ...source, behind })
  const answered = await replicas?.query(environment, workOn, { fresh, active, background, deadline })
  return answered ? answered.answer : onPostgres(scanning, environment, workOn, deadline)
}

import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { requireCredible } from '../../../domain/purchases/store-facts/credible.ts'
import { inSequence } from '../../../domain/purchases/store-facts/statement.ts'
import { nextQuestion } from '../../../domain/purchases/store-inbox/questions.ts'
import type { RefreshQueue } from '../../../domain/purchases/store-inbox/queues.ts'
import type { OpenStore } from '../../../domain/purchases/stores/settings.ts'
import type { Db } from '../../../store/connect.ts'
import { timeLimit } from '../../../store/time-limit.ts'
import { quotaOf } from '../quota.ts'
import type { StoreAnswer, StoreClient } from '../store-client.ts'

/** The time for all requests of a queue together. */
const LIMIT_MS = 60_000

/** Fetches everything that the store knows of a queue, within the budget of the project. Throws `NotCredible` for an answer that is not. */
export async function fetchFromStore(
  db: Db,
  client: StoreClient,
  { name, project, platform, environment }: RefreshQueue,
  settings: OpenStore,
  transactions: readonly string[],
  ends: AbortSignal,
): Promise<StoreAnswer> {
  const late = timeLimit(LIMIT_MS).signal
  const signal = AbortSignal.any([ends, late])
  // Google's notifications do not name the environment, and Google has one API for both.
  const kind: EnvironmentKind = environment ?? 'production'
  const quota = quotaOf(db, { project, platform, environment }, 'refresh', signal)
  const question = await nextQuestion(db)
  try {
    const answer = await client.refresh(name, { settings, environment: kind, signal, transactions, quota })
    if (answer.is !== 'reports') return answer
    for (const report of answer.reports) requireCredible(report, Date.now())
    return { ...answer, reports: inSequence(answer.reports, question) }
  } catch (error) {
    if (late.aborted && !ends.aborted) return { is: 'later', why: 'timeout', afterMs: null }
    throw error
  }
}

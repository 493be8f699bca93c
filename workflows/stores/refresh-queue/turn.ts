import { type ClaimedJob, deleteClaimedJob, lockFence } from '../../../domain/durable/jobs/job.ts'
import { type EnvironmentKind, environmentOf } from '../../../domain/kernel/environment.ts'
import { isReportConflict } from '../../../domain/purchases/record-reports.ts'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { raiseAlerts, refusedCredentials } from '../../../domain/purchases/store-inbox/alerts.ts'
import { knownEnvironment } from '../../../domain/purchases/store-inbox/known-environment.ts'
import { type FailedRow, failRows, type PendingRow, setAsidePending, takePending } from '../../../domain/purchases/store-inbox/pending.ts'
import { endQueueTurn, loadQueue, parkQueue, type RefreshQueue } from '../../../domain/purchases/store-inbox/queues.ts'
import { type OpenStore, openStore } from '../../../domain/purchases/stores/settings.ts'
import { classifyFailure } from '../../../store/failures.ts'
import { transaction } from '../../../store/transaction.ts'
import { jobLoss } from '../../engine/attempt.ts'
import type { Outcome, Signals } from '../../engine/handler.ts'
import { messageOf } from '../../engine/policy.ts'
import { OVER_QUOTA } from '../quota.ts'
import type { StoreAnswer, StoreClient } from '../store-client.ts'
import { fetchFromStore } from './fetch-from-store.ts'
import { type ReadRow, type ReadRows, readNotifications } from './read-rows.ts'
import { NotComplete, recordTurn, type TurnResult } from './record-turn.ts'
import type { RefreshDeps } from './refresh-deps.ts'
import { MOST_FAILING_SECONDS, refreshWait } from './refresh-wait.ts'

const MOST_ROWS = 100
/** The least time between two fetches for a queue. */
const APART_MS = 1_100
/** Workers of a newer version know the store. */
const UNKNOWN_STORE_MS = 60_000

const SUCCEEDED: Outcome = { is: 'succeeded' }
const NOTHING_KNOWN: OpenStore = { project: 0, enabled: false, value: () => null, isConnected: () => false }

/** The dependencies and data of a turn. */
type Turn = {
  job: ClaimedJob
  queue: RefreshQueue
  store: OpenStore
  client: StoreClient
  rows: PendingRow[]
  read: ReadRows
  signals: Signals
}

/** One turn of a queue: reads what is pending, fetches from the store if that is needed, and records all of it in one transaction. */
export async function takeTurn(job: ClaimedJob, signals: Signals, deps: RefreshDeps): Promise<Outcome> {
  const { pool, secrets, clients, at } = deps
  const queue = await loadQueue(pool, job.id)
  if (queue === null) {
    await deleteClaimedJob(pool, job)
    return SUCCEEDED
  }
  const client = clients[queue.platform]
  if (!client) return park(deps, job, UNKNOWN_STORE_MS, 'not_available')
  const rows = await takePending(pool, queue.id, MOST_ROWS)
  const store = (await openStore(pool, secrets, queue.project, queue.platform)) ?? NOTHING_KNOWN
  const read = await readNotifications(client, rows, store)
  at('queue-read')
  const turn: Turn = { job, queue, store, client, rows, read, signals }
  const isDue = queue.nextCheckAt !== null && queue.nextCheckAt <= queue.now
  if (isDue || read.read.some(({ refresh }) => refresh)) return withAnswer(turn, deps)
  return apply(turn, await ownResult(turn, deps), deps, store.isConnected(kindOf(turn)))
}

/** The environment of the turn, or the assumed one until a notification or an answer states it. */
const kindOf = ({ queue, read }: Turn): EnvironmentKind =>
  queue.environment ?? read.read.find(row => row.environment)?.environment ?? 'production'

const NO_RESULT = { reports: [], promises: [], finished: [], failure: null, isFetched: false }

/** Rows of another environment must not reach the known environment. */
function ofKind(rows: readonly ReadRow[], kind: EnvironmentKind) {
  const isForeign = ({ environment }: ReadRow) => environment !== null && environment !== kind
  const reason = `the notification is of the other environment than its lineage (${kind})`
  return {
    own: rows.filter(row => !isForeign(row)),
    foreign: rows.filter(isForeign).map(({ id }) => ({ id, reason })),
  }
}

const promisesOf = (rows: readonly ReadRow[]) => rows.flatMap(({ promise }) => promise ?? [])

/** The result of a turn: the content of the notifications, and the content that the store adds. */
async function result(turn: Turn, deps: RefreshDeps, kind: EnvironmentKind, added: StoreReport[]): Promise<TurnResult> {
  const { queue, read, store } = turn
  const environment = await environmentOf(deps.pool, queue.project, kind)
  const { own, foreign } = ofKind(read.read, kind)
  return {
    ...NO_RESULT,
    environment,
    isConnected: store.isConnected(kind),
    reports: [...own.flatMap(({ reports }) => reports), ...added],
    finished: [
      ...own.map(({ id }) => ({ id, state: 'done' as const, environment })),
      ...read.ignored.map(({ id }) => ({ id, state: 'ignored' as const, environment })),
    ],
    promises: promisesOf(own),
    failed: [...read.failed, ...foreign],
  }
}

const ownResult = (turn: Turn, deps: RefreshDeps): Promise<TurnResult> => result(turn, deps, kindOf(turn), [])

/**
 * Apple's notifications are complete: access must not wait for an answer of the API. The notifications of the other stores only show that
 * something has changed.
 */
const isSelfSufficient = ({ queue }: Turn) => queue.platform === 'apple'

async function withAnswer(turn: Turn, deps: RefreshDeps): Promise<Outcome> {
  const { queue, client, store, read, rows, signals } = turn
  const kind = kindOf(turn)
  if (!store.isConnected(kind)) {
    if (rows.length === 0 || isSelfSufficient(turn)) return apply(turn, await ownResult(turn, deps), deps, false)
    return failing(turn, deps, 'not_connected', null)
  }
  if (signals.stopping.aborted) return { is: 'interrupted' }
  // The answers of these stores have the time of whole seconds: two of the same second could not be distinguished.
  const sinceAnswer = queue.now - (queue.fetchedAt ?? Number.NEGATIVE_INFINITY)
  if (!isSelfSufficient(turn) && sinceAnswer < APART_MS) return park(deps, turn.job, APART_MS - sinceAnswer, 'asked_just_now')
  const ends = AbortSignal.any([signals.lease, signals.halt])
  let answer: StoreAnswer
  try {
    answer = await fetchFromStore(deps.pool, client, queue, store, read.transactions, ends)
  } catch (error) {
    if (ends.aborted || classifyFailure(error) !== 'other') throw error
    // The content of the notifications is credible: the answer must not prevent its record.
    if (error instanceof NotCredible && isSelfSufficient(turn)) return failing(turn, deps, notCredible(error), null)
    return poisoned(turn, deps, error)
  }
  deps.counts.refresh(queue.platform, answer.is === 'later' && answer.why === OVER_QUOTA ? OVER_QUOTA : answer.is)
  deps.at('store-fetched')
  return answered(turn, deps, answer)
}

async function answered(turn: Turn, deps: RefreshDeps, answer: StoreAnswer): Promise<Outcome> {
  switch (answer.is) {
    case 'reports': {
      const found = await result(turn, deps, answer.environment, answer.reports)
      return apply(turn, { ...found, isFetched: true }, deps, false)
    }
    case 'unknown':
    case 'gone':
      return unanswerable(turn, deps)
    case 'later':
      if (answer.why === OVER_QUOTA) return overQuota(turn, deps, answer.afterMs ?? 1_000)
      return failing(turn, deps, answer.why, answer.afterMs)
    case 'refused':
      await raiseAlerts(deps.pool, [refusedCredentials(turn.queue.project, turn.queue.platform, await ownEnvironment(turn, deps))])
      return failing(turn, deps, answer.why, null)
    default:
      return answer satisfies never
  }
}

/** The store does not know the lineage, or no longer knows it: known facts stay, and the content of the notifications counts. */
async function unanswerable(turn: Turn, deps: RefreshDeps): Promise<Outcome> {
  const { queue, read } = turn
  const isFetched = true
  if (isSelfSufficient(turn)) return apply(turn, { ...(await ownResult(turn, deps)), isFetched }, deps, false)
  const known = await knownEnvironment(deps.pool, queue)
  if (known) return apply(turn, { ...(await result(turn, deps, known, [])), isFetched }, deps, false)
  const finished = [...read.read, ...read.ignored].map(({ id }) => ({ id, state: 'ignored' as const, environment: null }))
  // The store may not know a new purchase for a moment.
  const promises = promisesOf(read.read)
  return apply(
    turn,
    { ...NO_RESULT, environment: null, isConnected: true, isFetched, promises, finished, failed: read.failed },
    deps,
    false,
  )
}

async function overQuota(turn: Turn, deps: RefreshDeps, afterMs: number): Promise<Outcome> {
  // Content that Apple has signed must not wait for a budget either: the fetch follows later.
  if (isSelfSufficient(turn) && turn.read.read.length > 0) {
    const failure = { reason: OVER_QUOTA, afterSeconds: Math.max(1, afterMs / 1000) }
    return apply(turn, { ...(await ownResult(turn, deps)), failure }, deps, false)
  }
  return park(deps, turn.job, afterMs, OVER_QUOTA)
}

const ownEnvironment = ({ queue }: Turn, { pool }: RefreshDeps) =>
  queue.environment === null ? null : environmentOf(pool, queue.project, queue.environment)

async function failing(turn: Turn, deps: RefreshDeps, why: string, afterMs: number | null): Promise<Outcome> {
  const { queue, read } = turn
  if ((queue.failingForSeconds ?? 0) > MOST_FAILING_SECONDS) return giveUp(turn, deps, why)
  const failure = { reason: why, afterSeconds: refreshWait(queue.attempts, afterMs) }
  const kept = isSelfSufficient(turn)
    ? await ownResult(turn, deps)
    : { ...NO_RESULT, environment: null, isConnected: true, failed: read.failed }
  return apply(turn, { ...kept, failure }, deps, false)
}

/** The store has given no answer for a week. */
async function giveUp({ job, queue }: Turn, deps: RefreshDeps, why: string): Promise<Outcome> {
  const reason = `the store gave no answer for 7 days: ${why}`
  const setAside = await transaction(deps.pool, async tx => {
    await lockFence(tx, job)
    const rows = await setAsidePending(tx, queue.id, reason)
    await endQueueTurn(tx, job, { nextCheckAt: null, expectation: null, failure: null })
    return rows
  })
  reportSetAside(queue, deps, setAside)
  return { is: 'failed', why: reason }
}

async function park({ pool }: Pick<RefreshDeps, 'pool'>, job: ClaimedJob, afterMs: number, why: string): Promise<Outcome> {
  await transaction(pool, async tx => {
    await lockFence(tx, job)
    await parkQueue(tx, job, afterMs)
  })
  return { is: 'suspended', why, isRetry: false }
}

/** Records the turn. `mustBeComplete`: if periods are missing, Perennial fetches from the store first. */
async function apply(turn: Turn, found: TurnResult, deps: RefreshDeps, mustBeComplete: boolean): Promise<Outcome> {
  const { job, queue } = turn
  const { pool, counts, at } = deps
  const isCheck = found.isFetched && turn.rows.length === 0
  let recorded: Awaited<ReturnType<typeof recordTurn>>
  try {
    recorded = await transaction(pool, tx => recordTurn(tx, job, queue, found, { mustBeComplete, isCheck }), isReportConflict)
  } catch (error) {
    if (error instanceof NotComplete) return withAnswer(turn, deps)
    if (jobLoss(error, turn.signals) || classifyFailure(error) !== 'other') throw error
    return poisoned(turn, deps, error)
  }
  if (recorded.hasMissed) counts.missed(queue.platform)
  reportSetAside(queue, deps, recorded.setAside)
  at('turn-recorded')
  const [failed] = found.failed
  if (failed) return { is: 'suspended', why: `a notification could not be read: ${failed.reason}`, isRetry: true }
  return found.failure === null ? SUCCEEDED : { is: 'suspended', why: found.failure.reason, isRetry: found.failure.reason !== OVER_QUOTA }
}

function reportSetAside({ project, platform: store, environment }: RefreshQueue, { onSetAside }: RefreshDeps, rows: FailedRow[]): void {
  for (const { id, reason } of rows) onSetAside({ project, store, environment, notification: id, reason })
}

const notCredible = ({ message }: NotCredible) => `the answer of the store is not credible: ${message}`

/**
 * The content that was read cannot be recorded. From now on each of the notifications is tried alone, so that the faulty one does not
 * prevent the others. After an answer that is not credible they are set aside at once.
 */
async function poisoned({ job, queue, rows }: Turn, deps: RefreshDeps, error: unknown): Promise<Outcome> {
  const isFinal = error instanceof NotCredible
  const reason = isFinal ? notCredible(error) : messageOf(error, 'recording what the store says')
  const failure = rows.length > 0 ? null : { reason, afterSeconds: refreshWait(queue.attempts, null) }
  const setAside = await transaction(deps.pool, async tx => {
    await lockFence(tx, job)
    const failed = await failRows(
      tx,
      rows.map(({ id }) => ({ id, reason, isFinal })),
    )
    await endQueueTurn(tx, job, { nextCheckAt: queue.nextCheckAt, expectation: queue.expectation, failure })
    return failed
  })
  reportSetAside(queue, deps, setAside)
  return { is: 'suspended', why: `a notification could not be recorded: ${reason}`, isRetry: true }
}

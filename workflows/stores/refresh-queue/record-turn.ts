import { type ClaimedJob, lockFence } from '../../../domain/durable/jobs/job.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { stepwise } from '../../../domain/kernel/in-steps.ts'
import { requestConsumption } from '../../../domain/purchases/consumption.ts'
import { purchasesOfLineage } from '../../../domain/purchases/record.ts'
import { recordReports } from '../../../domain/purchases/record-reports.ts'
import type { StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { endAlert, raiseAlerts, refusedCredentials } from '../../../domain/purchases/store-inbox/alerts.ts'
import { type Expectation, isShown, type LastPeriod, nextCheckOf, nextExpected } from '../../../domain/purchases/store-inbox/checks.ts'
import { lastPeriodIn } from '../../../domain/purchases/store-inbox/follow.ts'
import { knownOfQueue } from '../../../domain/purchases/store-inbox/known-of-queue.ts'
import { type FailedRow, type FinishedRow, failRows, finishRows } from '../../../domain/purchases/store-inbox/pending.ts'
import { endQueueTurn, type QueueTurn, type RefreshQueue } from '../../../domain/purchases/store-inbox/queues.ts'
import { subscriptionsInSteps } from '../../../domain/purchases/subscriptions/lineages.ts'
import { hasUnheardEnd } from '../../../domain/purchases/subscriptions/waiting.ts'
import type { RecordedLineage } from '../../../domain/purchases/write-reports.ts'
import type { Tx } from '../../../store/connect.ts'
import type { ReadRow } from './read-rows.ts'

/**
 * The result of a turn of a queue. `environment` null: unknown, and nothing is recorded. `isFetched`: the store has answered. `promises`:
 * of its notifications.
 */
export type TurnResult = {
  environment: Environment | null
  reports: StoreReport[]
  isConnected: boolean
  isFetched: boolean
  promises: NonNullable<ReadRow['promise']>[]
  finished: FinishedRow[]
  failed: FailedRow[]
  failure: QueueTurn['failure']
}

/** The store is connected, and the known history of the lineage has a gap: the transaction was rolled back. */
export class NotComplete extends Error {}

const alertsOf = (recorded: readonly RecordedLineage[], reports: readonly StoreReport[]): { alert: string; about: string }[] => [
  ...reports.flatMap(({ alerts = [], lineage }) =>
    alerts.map(alert => ({ alert, about: alert.startsWith('google_orders') ? '' : lineage })),
  ),
  ...recorded.flatMap(({ isConflict, name }) => (isConflict ? [{ alert: 'lineage_conflict', about: name }] : [])),
  ...recorded.flatMap(({ bought, name }) =>
    bought?.by === 'keep' ? [{ alert: 'bought_by_another_account', about: `${name} ${bought.owner} ${bought.account}` }] : [],
  ),
  ...recorded.flatMap(({ unpriced, name }) => (unpriced.length > 0 ? [{ alert: 'price_unknown', about: name }] : [])),
]

/** The last period of each lineage that is recorded of the queue. */
async function lastPeriods(tx: Tx, queue: RefreshQueue, recorded: readonly RecordedLineage[]): Promise<LastPeriod[]> {
  const found: LastPeriod[] = []
  for (const { lineage } of recorded) {
    const period = await lastPeriodIn(tx, lineage, queue.name)
    if (period !== null) found.push(period)
  }
  return found
}

/** Whether a past end of a lineage is not reported, and nothing was fetched from the store since. */
async function lacksEnd(tx: Tx, recorded: readonly RecordedLineage[], now: number): Promise<boolean> {
  for (const { lineage } of recorded) {
    const subscriptions = await stepwise(subscriptionsInSteps(await purchasesOfLineage(tx, lineage), []))
    if (subscriptions.some(({ links }) => hasUnheardEnd(links, now))) return true
  }
  return false
}

const earliest = (times: readonly (number | null)[]): number | null => {
  const known = times.filter(time => time !== null)
  return known.length > 0 ? Math.min(...known) : null
}

/** When the next fetch is due for the recorded lineages of the queue; ms. */
function nextCheck(queue: RefreshQueue, periods: readonly LastPeriod[], isRecorded: boolean, isFetched: boolean): number | null {
  if (!isRecorded) return isFetched || queue.nextCheckAt === null || queue.nextCheckAt <= queue.now ? null : queue.nextCheckAt
  return earliest(periods.map(period => nextCheckOf(queue, period, isFetched ? queue.now : queue.fetchedAt, queue.now)))
}

/**
 * Changes that the store's notifications have announced, now or before, and that its answer does not show. Null: none, or it was fetched
 * often enough.
 */
function expectationOf(queue: RefreshQueue, periods: readonly LastPeriod[], { promises, isFetched }: TurnResult): Expectation | null {
  if (!isFetched) return queue.expectation
  const newest = promises.reduce<(typeof promises)[number] | null>((found, one) => (found && found.at >= one.at ? found : one), null)
  const expectation = newest ? { ...newest, since: queue.now } : queue.expectation
  if (expectation === null || periods.some(period => isShown(expectation, period))) return null
  return nextExpected(expectation, queue.now) === null ? null : expectation
}

/**
 * Records the turn in one transaction under the fence of the queue's job: statements, purchases and their consequences, the rows, and when
 * the queue is due next. Throws `LeaseLost`; `NotComplete` when `mustBeComplete` and something may be missing. `isCheck`: the fetch came
 * without a notification. `hasMissed`: the fetch has changed the known history of the lineage; a push should have reported it. `setAside`:
 * notifications that are given up.
 */
export async function recordTurn(
  tx: Tx,
  job: ClaimedJob,
  queue: RefreshQueue,
  result: TurnResult,
  { mustBeComplete, isCheck }: { mustBeComplete: boolean; isCheck: boolean },
): Promise<{ hasMissed: boolean; setAside: FailedRow[] }> {
  const { environment, reports, isConnected, isFetched, finished, failed, failure } = result
  let setAside: FailedRow[] = []
  const { project, platform } = queue
  const before = isCheck && environment !== null ? await knownOfQueue(tx, environment, platform, queue.name) : null
  const end = async (recorded: readonly RecordedLineage[]) => {
    if (mustBeComplete && (recorded.some(({ isComplete }) => !isComplete) || (await lacksEnd(tx, recorded, queue.now))))
      throw new NotComplete()
    await lockFence(tx, job)
    await finishRows(tx, finished)
    setAside = await failRows(tx, failed)
    for (const { lineage } of recorded) await requestConsumption(tx, environment!, lineage, reports)
    if (isFetched) await endAlert(tx, refusedCredentials(project, platform, environment))
    await raiseAlerts(
      tx,
      alertsOf(recorded, reports).map(one => ({ project, platform, environment, ...one })),
    )
    if (failure !== null) {
      await endQueueTurn(tx, job, { nextCheckAt: queue.nextCheckAt ?? queue.now, isFetched, expectation: queue.expectation, failure })
      return
    }
    const periods = await lastPeriods(tx, queue, recorded)
    const expectation = expectationOf(queue, periods, result)
    const planned = nextCheck(queue, periods, recorded.length > 0, isFetched)
    const nextCheckAt = earliest([planned, expectation && nextExpected(expectation, queue.now)])
    await endQueueTurn(tx, job, { nextCheckAt, isFetched, expectation, failure })
  }
  if (environment === null || reports.length === 0) {
    await end([])
    return { hasMissed: false, setAside }
  }
  let after: string | null = null
  const beforeEmitting = async (recorded: readonly RecordedLineage[]) => {
    await end(recorded)
    if (before !== null) after = await knownOfQueue(tx, environment, platform, queue.name)
  }
  await recordReports(tx, environment, reports, { isConnected, beforeEmitting })
  return { hasMissed: before !== after, setAside }
}

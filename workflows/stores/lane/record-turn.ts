import type { Environment } from '../../../domain/environment.ts'
import { type ClaimedJob, lockFence } from '../../../domain/jobs/job.ts'
import { requestConsumption } from '../../../domain/purchases/consumption.ts'
import { purchasesOfLineage } from '../../../domain/purchases/record.ts'
import { recordReports } from '../../../domain/purchases/record-reports.ts'
import type { RecordedLineage } from '../../../domain/purchases/write-reports.ts'
import type { StoreReport } from '../../../domain/store-facts/statement.ts'
import { endAlert, raiseAlerts, refusedCredentials } from '../../../domain/store-inbox/alerts.ts'
import { nextCheckOf } from '../../../domain/store-inbox/checks.ts'
import { laneOf, lastPeriodOf } from '../../../domain/store-inbox/follow.ts'
import { knownOfLane } from '../../../domain/store-inbox/known-of-lane.ts'
import { endLaneTurn, type Lane, type LaneTurn } from '../../../domain/store-inbox/lanes.ts'
import { type FinishedRow, failRow, finishRows } from '../../../domain/store-inbox/pending.ts'
import type { Tx } from '../../../store/connect.ts'

/** What a turn of a lane has found out. `environment` null: it is not known, and nothing is recorded. `isAsked`: the store has answered. */
export type TurnResult = {
  environment: Environment | null
  reports: StoreReport[]
  isConnected: boolean
  isAsked: boolean
  finished: FinishedRow[]
  failed: { id: number; reason: string }[]
  failure: LaneTurn['failure']
}

/** The store can be asked, and what is known of the lineage has a gap: the transaction was undone. */
export class NotComplete extends Error {}

const alertsOf = (recorded: readonly RecordedLineage[], reports: readonly StoreReport[]): { alert: string; about: string }[] => [
  ...reports.flatMap(({ alerts = [], lineage }) =>
    alerts.map(alert => ({ alert, about: alert.startsWith('google_orders') ? '' : lineage })),
  ),
  ...recorded.flatMap(({ isConflict, name }) => (isConflict ? [{ alert: 'lineage_conflict', about: name }] : [])),
  ...recorded.flatMap(({ unpriced, name }) => (unpriced.length > 0 ? [{ alert: 'price_unknown', about: name }] : [])),
]

/** When the store is to be asked next about what is recorded of the lane; ms. */
async function nextCheck(tx: Tx, lane: Lane, recorded: readonly RecordedLineage[], isAsked: boolean): Promise<number | null> {
  if (recorded.length === 0) return isAsked || lane.nextCheckAt === null || lane.nextCheckAt <= lane.now ? null : lane.nextCheckAt
  const times: number[] = []
  for (const { lineage } of recorded) {
    const purchases = (await purchasesOfLineage(tx, lineage)).filter(one => laneOf(one) === lane.name)
    const period = lastPeriodOf(purchases)
    const next = period && nextCheckOf(lane.id, period, isAsked ? lane.now : lane.askedAt, lane.now)
    if (next !== null) times.push(next)
  }
  return times.length > 0 ? Math.min(...times) : null
}

/**
 * Records the turn in one transaction under the fence of the lane's job: statements, purchases and what follows from them, the rows, and when the
 * lane is due next. Throws `LeaseLost`; `NotComplete` when `mustBeComplete` and something may be missing. `isCheck`: the store was asked without a
 * notification; gives whether it has changed what was known of the lineage: a push should have brought that.
 */
export async function recordTurn(
  tx: Tx,
  job: ClaimedJob,
  lane: Lane,
  { environment, reports, isConnected, isAsked, finished, failed, failure }: TurnResult,
  { mustBeComplete, isCheck }: { mustBeComplete: boolean; isCheck: boolean },
): Promise<boolean> {
  const { project, platform } = lane
  const before = isCheck && environment !== null ? await knownOfLane(tx, environment, platform, lane.name) : null
  const end = async (recorded: readonly RecordedLineage[]) => {
    if (mustBeComplete && recorded.some(({ isComplete }) => !isComplete)) throw new NotComplete()
    await lockFence(tx, job)
    await finishRows(tx, finished)
    for (const { id, reason } of failed) await failRow(tx, id, reason)
    for (const { lineage } of recorded) await requestConsumption(tx, environment!, lineage, reports)
    if (isAsked) await endAlert(tx, refusedCredentials(project, platform, environment))
    await raiseAlerts(
      tx,
      alertsOf(recorded, reports).map(one => ({ project, platform, environment, ...one })),
    )
    const nextCheckAt = failure === null ? await nextCheck(tx, lane, recorded, isAsked) : (lane.nextCheckAt ?? lane.now)
    await endLaneTurn(tx, job, { nextCheckAt, isAsked, failure })
  }
  if (environment === null || reports.length === 0) {
    await end([])
    return false
  }
  let after: string | null = null
  const beforeTelling = async (recorded: readonly RecordedLineage[]) => {
    await end(recorded)
    if (before !== null) after = await knownOfLane(tx, environment, platform, lane.name)
  }
  await recordReports(tx, environment, reports, { isConnected, beforeTelling })
  return before !== after
}

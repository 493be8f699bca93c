import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import { jobKindOf } from '../../domain/durable/jobs/workflow-run.ts'
import { type EndedDelivery, loadNewDeliveries, recordEnded } from '../../domain/reporting/reports/record-delivered.ts'
import { DELIVERY_WORKFLOW, deliveryOf, UPLOAD_WORKFLOW } from '../../domain/reporting/reports/run.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { jobLoss, runEffect } from '../engine/attempt.ts'
import { NOWHERE } from '../engine/crash-point.ts'
import { type WorkflowDeps, workflowHandler } from '../engine/execute.ts'
import type { JobHandler, Outcome, Signals } from '../engine/handler.ts'
import { attemptDelivery, type DeliveryDeps, deliverLoaded, type EndedAttempt, LIMIT_MS, reportDelivery, settledOf } from './delivery.ts'

/** `planned`: its connections plan a statement once. */
export type DeliveryGroupDeps = WorkflowDeps & DeliveryDeps & { planned: Pool }

/** Deliveries of one transaction. */
const MOST = 100

/** Notifies the destinations of a report's run of its file, or uploads the file: each kind with a capacity of its own. */
export const reportDeliveries = (deps: DeliveryGroupDeps): JobHandler[] =>
  [DELIVERY_WORKFLOW, UPLOAD_WORKFLOW].map(kind => handlerOf(deps, kind))

/** The result of the first attempt of a delivery, with which the workflow continues. */
type First = { is: 'over'; outcome: Outcome } | { is: 'open'; attempt: () => Promise<EndedAttempt> }

/**
 * Reads of several deliveries of this worker at the same moment are one statement each. Deliveries that succeed at once are recorded
 * together, in the transaction that ends their runs. All others take the steps of a workflow; its first attempt is the one that was made.
 */
function handlerOf({ planned, ...deps }: DeliveryGroupDeps, workflow: typeof DELIVERY_WORKFLOW | typeof UPLOAD_WORKFLOW): JobHandler {
  const { at = NOWHERE } = deps
  const kind = jobKindOf(workflow)
  const byItself = workflowHandler(reportDelivery(workflow, attemptDelivery(deps)), deps)
  const load = batching((claimed: readonly ClaimedJob[]) => loadNewDeliveries(planned, claimed))
  const record = batching((ended: readonly EndedDelivery[]) => transaction(planned, tx => recordEnded(tx, kind, ended)), { max: MOST })

  async function first(claimed: ClaimedJob, signals: Signals): Promise<First | null> {
    const { environment } = claimed
    const made = await load(claimed)
    if (!made) return null
    if (signals.stopping.aborted) return { is: 'over', outcome: { is: 'interrupted' } }
    if (signals.lease.aborted || !signals.isHeld()) return { is: 'over', outcome: { is: 'lost' } }
    at('before-effect')
    signals.effectBegins()
    const ran = await runEffect(LIMIT_MS, [signals.lease, signals.halt], signal =>
      deliverLoaded(deps, environment, made.loaded, { partialResult: null, signal }),
    )
    if (ran.is === 'thrown') return lossOf(ran.error, signals) ?? { is: 'open', attempt: () => Promise.reject(ran.error) }
    at('after-effect')
    try {
      const ended = { claimed, environment, delivery: deliveryOf(made.subject), settled: settledOf(ran.result, 1) }
      const isRecorded = await signals.untilRecorded(() => record(ended))
      at('recorded')
      return { is: 'over', outcome: { is: isRecorded ? 'succeeded' : 'lost' } }
    } catch (error) {
      return lossOf(error, signals) ?? { is: 'open', attempt: () => Promise.resolve(ran.result) }
    }
  }

  return {
    ...byItself,
    async handle(claimed, signals) {
      const begun = claimed.hasLapsed ? null : await first(claimed, signals)
      if (begun === null) return byItself.handle(claimed, signals)
      if (begun.is === 'over') return begun.outcome
      return workflowHandler(reportDelivery(workflow, begun.attempt), deps).handle(claimed, signals)
    },
  }
}

function lossOf(error: unknown, signals: Signals): First | null {
  const loss = jobLoss(error, signals)
  return loss && { is: 'over', outcome: loss }
}

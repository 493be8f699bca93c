import { cancelClaimed } from '../../domain/automations/automation-runs/cancel.ts'
import type { AutomationRun, LoadedRun, TimelineStep } from '../../domain/automations/automation-runs/load.ts'
import { nextStep, StepMismatch } from '../../domain/automations/automation-runs/next-step.ts'
import { type CurrentStatus, parkRun, readCurrentStatus } from '../../domain/automations/automation-runs/park.ts'
import { type ClaimedJob, LeaseLost } from '../../domain/durable/jobs/job.ts'
import { takeLapse } from '../../domain/durable/jobs/lapse.ts'
import type { Pool } from '../../store/connect.ts'
import { span } from '../../store/tracing.ts'
import { transaction } from '../../store/transaction.ts'
import type { Outcome, Signals } from '../engine/handler.ts'
import { performStep, type RunDeps } from './perform-step.ts'
import { type DueStep, type RunProgress, recorderIn, recordLapsedStep, requireLease, type StepRecorder } from './record-step.ts'
import { stepKindOf } from './steps/registry.ts'

/** Cancels or parks a run whose automation is paused, or was set inactive or deleted. Null: the run may continue. */
export async function applyAutomationStatus(current: CurrentStatus, run: AutomationRun, pool: Pool): Promise<Outcome | null> {
  if (current.is_cancelled)
    return (await cancelClaimed(pool, run)) ? { is: 'suspended', why: 'cancelled with its automation', isRetry: false } : { is: 'lost' }
  if (current.automation_status === 'paused' && (await parkRun(pool, run))) return { is: 'suspended', why: 'paused', isRetry: false }
  return null
}

/** Executes a run step by step until it ends or waits. */
export async function advanceRun(loaded: LoadedRun, claimed: ClaimedJob, deps: RunDeps): Promise<Outcome> {
  try {
    return await performSteps(loaded, claimed, deps)
  } catch (error) {
    if (error instanceof LeaseLost) return { is: 'lost' }
    if (error instanceof StepMismatch) return failMismatched(loaded.run, deps.record, error)
    throw error
  }
}

/** The definition is not the one of the recorded steps. No repeat can correct that, so the run fails with this reason. */
async function failMismatched(run: AutomationRun, record: StepRecorder, { message }: StepMismatch): Promise<Outcome> {
  const ended = await record.end({ ...run, step: null, status: 'failed', reason: 'step_mismatch', began: run.now })
  return ended === null ? { is: 'lost' } : { is: 'failed', why: message }
}

async function performSteps({ run, steps, timeline }: LoadedRun, claimed: ClaimedJob, deps: RunDeps): Promise<Outcome> {
  const { record, at } = deps
  // The automation's status was read with the run. It is read again before each later effect.
  let isStatusFresh = true
  let hasLapsed = claimed.hasLapsed === true
  for (let now = run.now; ; ) {
    const { next, exited } = nextStep(steps, timeline)
    if (!next) return endRun(run, record, exited ? 'exit' : null)
    const { n, step } = next
    const kind = stepKindOf(step)
    const dueStep = (recorded: TimelineStep | undefined): DueStep => ({
      n,
      steps,
      context: { step, run, timeline, recorded, began: recorded?.started_at ?? now, now },
    })
    const lapsed = hasLapsed ? await recordLapse(dueStep(timeline[n]), kind.by === 'effect', claimed, deps) : null
    if (lapsed) timeline[n] = lapsed
    hasLapsed = false
    const due = dueStep(timeline[n])
    // An attempt begins with its turn: the wait for the turn is no part of its time, and a request that was not sent is no attempt.
    const progress =
      kind.by === 'effect'
        ? await deps.outgoing[kind.type](run.environment, hasWaited => stepUnlessStopped(due, isStatusFresh && !hasWaited, deps))
        : await stepUnlessStopped(due, isStatusFresh || !kind.effect, deps)
    isStatusFresh = false
    if (progress.is === 'stops') {
      if (progress.outcome.is === 'succeeded' || progress.outcome.is === 'failed') at('ended')
      return progress.outcome
    }
    at('recorded')
    timeline[n] = progress.row
    now = progress.now
  }
}

/**
 * Records the attempt of a former executor that ended before it recorded it; null: there is none. A step without an outward effect was not
 * tried then: the lapse is cleared, or a later step would count it as its own.
 */
const recordLapse = (
  due: DueStep,
  isOutward: boolean,
  claimed: ClaimedJob,
  { pool, transactions }: RunDeps,
): Promise<TimelineStep | null> =>
  transactions(due.context.run.environment, () =>
    transaction(pool, async tx => {
      const startedAt = await takeLapse(tx, claimed)
      return startedAt === null || !isOutward ? null : recordLapsedStep(due, startedAt, recorderIn(tx))
    }),
  )

/** Performs the step unless the run must stop before it. */
async function stepUnlessStopped(due: DueStep, isStatusKnown: boolean, deps: RunDeps): Promise<RunProgress> {
  const { run } = due.context
  const stopped =
    stopOf(deps.signals) ?? (isStatusKnown ? null : await applyAutomationStatus(await readCurrentStatus(deps.pool, run), run, deps.pool))
  if (stopped) return { is: 'stops', outcome: stopped }
  const { step } = due.context
  return span(`step ${step.type}`, { 'perennial.step.id': step.id }, () => performStep(due, deps))
}

/** Why no further step may begin in this process. */
function stopOf({ lease, isHeld, stopping }: Signals): Outcome | null {
  if (lease.aborted || !isHeld()) return { is: 'lost' }
  return stopping.aborted ? { is: 'interrupted' } : null
}

/** Ends a run whose last step is recorded already. */
async function endRun(run: AutomationRun, record: StepRecorder, reason: string | null): Promise<Outcome> {
  requireLease(await record.end({ ...run, step: null, status: 'succeeded', reason, began: run.now }), run)
  return { is: 'succeeded' }
}

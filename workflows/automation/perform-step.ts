import type { Pool } from '../../store/connect.ts'
import { classifyFailure } from '../../store/failures.ts'
import type { InTurn } from '../../store/taking-turns.ts'
import { isTracing, storedTrace } from '../../store/tracing.ts'
import { transaction } from '../../store/transaction.ts'
import { afterFailure, countedAttempts, jobLoss, runEffect } from '../engine/attempt.ts'
import type { AtCrashPoint } from '../engine/crash-point.ts'
import type { Signals } from '../engine/handler.ts'
import { messageOf, type RetryPolicy } from '../engine/policy.ts'
import { type Attempts, attemptedBy, beginStepAttempt } from './attempted.ts'
import type { PerformInGroup } from './perform-group.ts'
import { type DueStep, keptRecorder, type RunProgress, recorderIn, recordStep, type StepRecorder } from './record-step.ts'
import { type EffectType, failed, type StepDeps, type StepKind, type StepOutcome, StepSkipped, skipped } from './step-kind.ts'
import { stepKindOf } from './steps/registry.ts'

export type RunDeps = {
  pool: Pool
  deps: StepDeps
  record: StepRecorder
  policy: RetryPolicy
  at: AtCrashPoint
  signals: Signals
  group: PerformInGroup
  /** Limits the transactions of steps, and takes the environments in turn. */
  transactions: InTurn
  /** The same for effects outside of the database, by the type of their step. */
  outgoing: Record<EffectType, InTurn>
}

type KindBy<K> = Extract<StepKind, { by: K }>

/** Executes a step once and records its outcome in the way that its kind requires. Throws `LeaseLost`. */
export function performStep(due: DueStep, run: RunDeps): Promise<RunProgress> {
  const kind = stepKindOf(due.context.step)
  switch (kind.by) {
    case 'decision':
      return performDecision(kind, due, run)
    case 'transaction':
      return performTransaction(kind, due, run)
    case 'group':
      return recordingFailure(due, run, () => run.group({ kind, due: withTrace(due), signals: run.signals }))
    case 'effect':
      return performEffect(kind, due, run)
    default:
      return kind satisfies never
  }
}

const withTrace = (due: DueStep): DueStep => (isTracing() ? { ...due, context: { ...due.context, trace: storedTrace() } } : due)

/** A decision has no attempts: it fails only when the database is unavailable, and then a worker claims the whole run again. */
async function performDecision(kind: KindBy<'decision'>, due: DueStep, { deps, record, at }: RunDeps): Promise<RunProgress> {
  const outcome = await kind.decide(due.context, deps)
  return recordStep(due, { outcome, attempts: due.context.recorded?.attempts ?? [] }, record, at)
}

async function performEffect(kind: KindBy<'effect'>, due: DueStep, run: RunDeps): Promise<RunProgress> {
  const { signals, policy, deps, record, at } = run
  at('before-effect')
  const attempts = beginStepAttempt(due)
  const key = `${due.context.run.id}:${due.context.step.id}`
  signals.effectBegins()
  const ran = await runEffect(policy.attemptLimitMs, [signals.lease, signals.halt], signal => kind.act(due.context, { signal, key }, deps))
  at('after-effect')
  const kept = { ...run, record: keptRecorder(record, signals) }
  const progress =
    ran.is === 'thrown'
      ? await recordFailure(due, ran.error, kind.failure, attempts, kept)
      : await recordStep(due, { outcome: ran.result, attempts: attempts(null) }, kept.record, at)
  // An attempt that was lost or interrupted is not recorded.
  if (progress.is === 'continues' || (progress.outcome.is !== 'lost' && progress.outcome.is !== 'interrupted')) signals.effectRecorded()
  return progress
}

const performTransaction = (kind: KindBy<'transaction'>, due: DueStep, run: RunDeps): Promise<RunProgress> =>
  recordingFailure(due, run, () => {
    const attempts = beginStepAttempt(due)
    run.at('before-effect')
    return run.transactions(due.context.run.environment, () => transactAndRecord(kind, due, run, attempts))
  })

/** The step's writes and its record, in one transaction. */
const transactAndRecord = (
  kind: KindBy<'transaction'>,
  due: DueStep,
  { pool, deps, at }: RunDeps,
  attempts: Attempts,
): Promise<RunProgress> =>
  transaction(pool, async tx => {
    const outcome = await kind.transact(tx, due.context, deps)
    at('after-effect')
    return recordStep(due, attemptedBy(kind, due, outcome, attempts), recorderIn(tx), at)
  })

/** Performs a step that is a transaction; records its failure, for which nothing else was written. */
async function recordingFailure(due: DueStep, run: RunDeps, perform: () => Promise<RunProgress>): Promise<RunProgress> {
  try {
    return await perform()
  } catch (error) {
    // The database is unavailable: nothing has happened, and a worker claims the run again when its lease has expired.
    if (!jobLoss(error, run.signals) && classifyFailure(error) !== 'other') throw error
    // The record of a failed transaction shows no duration: its attempt begins here.
    return recordFailure(due, error, `${due.context.step.type}_failed`, beginStepAttempt(due), run)
  }
}

/** Records a failed attempt. `code`: the step's code once its attempts are used up. */
async function recordFailure(due: DueStep, error: unknown, code: string, attempts: Attempts, run: RunDeps): Promise<RunProgress> {
  const { policy, signals, record, at } = run
  const why = messageOf(error)
  const tried = attempts(why)
  const after = afterFailure({ policy, attempts: countedAttempts(tried), error, signals })
  if (after.is === 'lost' || after.is === 'interrupted') return { is: 'stops', outcome: after }
  if (error instanceof StepSkipped) return recordStep(due, { outcome: skipped(error.message), attempts: attempts(null) }, record, at)
  if (after.is === 'retry') return recordStep(due, { outcome: { ...after, why }, attempts: tried }, record, at)
  const outcome: StepOutcome = failed(after.why === 'stopped' ? (error as Error).message : code)
  return recordStep(due, { outcome, attempts: tried }, record, at)
}

import type { InsertCapacity } from '../../domain/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/jobs/job.ts'
import { apiTime, type Pool } from '../../store/connect.ts'
import { classifyFailure } from '../../store/failures.ts'
import type { InTurn } from '../../store/taking-turns.ts'
import { atOnce, transaction } from '../../store/transaction.ts'
import { afterFailure, beginAttempt, countedAttempts, jobLoss, runEffect } from '../engine/attempt.ts'
import type { AtCrashPoint } from '../engine/crash-point.ts'
import type { Signals } from '../engine/handler.ts'
import { messageOf, type RetryPolicy } from '../engine/policy.ts'
import { type DueStep, keptRecorder, type RunProgress, recorderIn, recordStep, type StepRecorder } from './record-step.ts'
import { type EffectType, failed, type StepDeps, type StepKind, type StepOutcome, StepSkipped, skipped } from './step-kind.ts'
import { stepKindOf } from './steps/registry.ts'

export type RunDeps = {
  pool: Pool
  /** Its connections plan a statement once. */
  planned: Pool
  deps: StepDeps
  record: StepRecorder
  policy: RetryPolicy
  at: AtCrashPoint
  signals: Signals
  /** Limits the transactions of steps, and takes the environments in turn. */
  transactions: InTurn
  /** The same for effects outside of the database, by the type of their step. */
  outgoing: Record<EffectType, InTurn>
}

type KindBy<K> = Extract<StepKind, { by: K }>
type Attempts = ReturnType<typeof beginAttempt>

/** Executes a step once and records its outcome in the way that its kind requires. Throws `LeaseLost`. */
export function performStep(due: DueStep, run: RunDeps): Promise<RunProgress> {
  const kind = stepKindOf(due.context.step)
  switch (kind.by) {
    case 'decision':
      return performDecision(kind, due, run)
    case 'transaction':
      return performTransaction(kind, due, run)
    case 'effect':
      return performEffect(kind, due, run)
    default:
      return kind satisfies never
  }
}

const beginStepAttempt = ({ context: { recorded, now } }: DueStep): Attempts => beginAttempt(recorded?.attempts ?? [], apiTime(now))

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
  if (ran.is === 'thrown') return recordFailure(due, ran.error, kind.failure, attempts, kept)
  const progress = await recordStep(due, { outcome: ran.result, attempts: attempts(null) }, kept.record, at)
  signals.effectRecorded()
  return progress
}

async function performTransaction(kind: KindBy<'transaction'>, due: DueStep, run: RunDeps): Promise<RunProgress> {
  const { environment } = due.context.run
  const attempts = beginStepAttempt(due)
  try {
    run.at('before-effect')
    const { progress } = await run.transactions(environment, () =>
      withCapacity(kind.inserts, environment, run.signals, capacity => transactAndRecord(kind, due, run, attempts, capacity)),
    )
    return progress
  } catch (error) {
    // The database is unavailable: nothing has happened, and a worker claims the run again when its lease has expired.
    if (!jobLoss(error, run.signals) && classifyFailure(error) !== 'other') throw error
    // The record of a failed transaction shows no duration: its attempt begins here.
    return recordFailure(due, error, `${due.context.step.type}_failed`, beginStepAttempt(due), run)
  }
}

type Transacted = { claimed: ClaimedJob[]; progress: RunProgress }

/** A transaction that inserts jobs may claim as many as the process has capacity for; the executor holds them after the commit. */
const withCapacity = (
  inserts: string | undefined,
  environment: number,
  { claimOnInsert }: Signals,
  transact: (capacity: InsertCapacity | null) => Promise<Transacted>,
): Promise<Transacted> => (inserts === undefined ? transact(null) : claimOnInsert(inserts, environment, transact))

const insertNothing = async (): Promise<ClaimedJob[]> => []

/** The step's writes, the jobs that it waits for and its record, in one transaction. */
function transactAndRecord(
  kind: KindBy<'transaction'>,
  due: DueStep,
  { pool, planned, deps, at }: RunDeps,
  attempts: Attempts,
  capacity: InsertCapacity | null,
): Promise<Transacted> {
  const { recorded } = due.context
  // A wait that is looked at again has begun already: the look is no attempt.
  const isAttempt = kind.effect && recorded?.status !== 'waiting'
  return transaction(kind.plansOnce ? planned : pool, async tx => {
    const outcome = await kind.transact(tx, due.context, deps, capacity)
    at('after-effect')
    const insertJobs = (outcome.is === 'waiting' && outcome.insertJobs) || insertNothing
    const attempted = { outcome, attempts: isAttempt ? attempts(null) : (recorded?.attempts ?? []) }
    const [claimed, progress] = await atOnce(tx, insertJobs, () => recordStep(due, attempted, recorderIn(tx), at))
    return { claimed, progress }
  })
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

import { LeaseLost, lockClaim, lockFence } from '../../domain/durable/jobs/job.ts'
import { takeLapse } from '../../domain/durable/jobs/lapse.ts'
import {
  areWritten,
  endRun,
  finishRun,
  type RecordedStep,
  type StepRecord,
  suspendRun,
  writeSteps,
} from '../../domain/durable/jobs/record.ts'
import type { ClaimedRun } from '../../domain/durable/jobs/workflow-run.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { afterFailure, countedAttempts, withLapse } from './attempt.ts'
import { Interrupted, StepFailed, Suspended } from './control-flow.ts'
import type { Signals } from './handler.ts'
import { messageOf, PartlyDone, type RetryPolicy } from './policy.ts'
import type { StepAttempt, StepPosition } from './step-cursor.ts'
import type { StepOptions } from './workflow.ts'

/** `isOutward`: the effect lies outside of the database, which must not forget the attempt. */
type Failure = { error: unknown; policy: RetryPolicy; isOutward: boolean; failing?: StepOptions<never>['failing'] | undefined }

export type RunRecords = ReturnType<typeof runRecords>

/** The records that an execution writes about its run, in transactions that lock the fence first. */
export function runRecords(pool: Pool, run: ClaimedRun, signals: Signals) {
  /** Records of finished steps that wait for the run's next transaction. */
  let postponed: ((tx: Tx) => Promise<void>)[] = []
  // The steps that the transaction under way finishes: one statement writes them.
  let finished: StepRecord[] = []
  // A former executor has begun the next step and ended before it recorded that.
  let hasLapsed = run.hasLapsed === true
  let isLapseTaken = false

  /**
   * When that executor began; null: there was none. Only the transaction that records the step may clear the time, not one that repeats a
   * recorded step.
   */
  async function takeLapseIn(tx: Tx): Promise<string | null> {
    isLapseTaken = true
    return hasLapsed ? takeLapse(tx, run) : null
  }

  /**
   * One transaction; with the record of an outward effect it is tried until the database answers. `now`: the time on the environment's
   * clock.
   */
  async function transact<T>(work: (tx: Tx, now: string) => Promise<T>, isOutward = postponed.length > 0): Promise<T> {
    // The records that an earlier try has written, if its commit got no answer.
    let unanswered: { written: readonly StepRecord[]; result: T } | null = null
    const write = (isRepeat: boolean) =>
      transaction(pool, async tx => {
        const now = await (isRepeat ? lockClaim : lockFence)(tx, run)
        if (unanswered && (await areWritten(tx, run, unanswered.written))) return unanswered.result
        unanswered = null
        finished = []
        isLapseTaken = false
        for (const record of postponed) await record(tx)
        const done = await work(tx, now)
        if (finished.length > 0) {
          await takeLapseIn(tx)
          await writeSteps(tx, run, finished)
        }
        unanswered = { written: finished, result: done }
        return done
      })
    const result = await (isOutward ? signals.untilRecorded(write) : write(false))
    postponed = []
    if (isLapseTaken) hasLapsed = false
    signals.effectRecorded()
    return result
  }

  return {
    transact,
    takeLapseIn,

    postpone(record: (tx: Tx) => Promise<void>) {
      postponed.push(record)
    },

    /** Records a step in the transaction under way. */
    succeed({ n, name, startedAt, attemptsWith }: StepAttempt, result: unknown, attempts = attemptsWith(null)) {
      finished.push({ n, name, status: 'succeeded', result, attempts, startedAt })
    },

    /** The step's record, with the attempt that a former worker did not record, if there is one. */
    async withLapse({ n, name, recorded }: StepPosition): Promise<RecordedStep | undefined> {
      if (!hasLapsed) return recorded
      return transact(async tx => {
        const startedAt = await takeLapseIn(tx)
        if (startedAt === null) return recorded
        const attempts = withLapse(recorded?.attempts ?? [], startedAt)
        const step = { n, name, status: 'running' as const, result: recorded?.result ?? null, attempts }
        await writeSteps(tx, run, [{ ...step, startedAt }])
        return { ...step, is_due: false }
      })
    },

    /** Records a failed attempt, and throws the way in which the run continues. */
    async fail(
      { n, name, recorded, startedAt, attemptsWith }: StepAttempt,
      { error, policy, isOutward, failing }: Failure,
    ): Promise<never> {
      const why = messageOf(error)
      const attempts = attemptsWith(why)
      const after = afterFailure({ policy, attempts: countedAttempts(attempts), error, signals })
      if (after.is === 'lost') throw new LeaseLost(why)
      if (after.is === 'interrupted') throw new Interrupted(why)
      const isLast = after.is === 'failed'
      // Stored for the next attempt only: the record of a failed step has no result.
      const partialResult = error instanceof PartlyDone ? error.partialResult : recorded?.result
      await transact(async tx => {
        await failing?.(tx, { attempts: attempts.length, isLast, afterSeconds: isLast ? null : after.afterSeconds, error })
        const step = { n, name, attempts, startedAt }
        if (isLast) return void finished.push({ ...step, status: 'failed', result: null })
        await writeSteps(tx, run, [{ ...step, status: 'running', result: partialResult }])
        await suspendRun(tx, run, 'running', after.afterSeconds)
      }, isOutward)
      if (isLast) throw new StepFailed(why, { cause: error })
      throw new Suspended(`step ${name} failed, next attempt in ${Math.round(after.afterSeconds)} s: ${why}`, true)
    },

    /** Ends the run as succeeded. */
    async end() {
      if (postponed.length > 0) await transact(tx => finishRun(tx, run, 'succeeded', null))
      else await endRun(pool, run)
    },
  }
}

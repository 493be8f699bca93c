import { LeaseLost } from '../../domain/durable/jobs/job.ts'
import type { Attempt, RecordedStep } from '../../domain/durable/jobs/record.ts'
import type { ClaimedRun } from '../../domain/durable/jobs/workflow-run.ts'
import { beginAttempt } from './attempt.ts'
import { Interrupted, StepFailed } from './control-flow.ts'
import type { Signals } from './handler.ts'

/** A step of the definition at its index, with its record if it has begun before. */
export type StepPosition = { n: number; name: string; recorded: RecordedStep | undefined }

/** `attemptsWith`: the record of all attempts including the one that has begun. */
export type StepAttempt = StepPosition & { startedAt: string; attemptsWith: (error: string | null) => Attempt[] }

export const beginStep = (position: StepPosition, startedAt: string): StepAttempt => ({
  ...position,
  startedAt,
  attemptsWith: beginAttempt(position.recorded?.attempts ?? [], startedAt),
})

export type StepCursor = ReturnType<typeof stepCursor>

/** The position of an execution in the steps of its run. */
export function stepCursor(run: ClaimedRun, recorded: readonly RecordedStep[], { lease, stopping, isHeld }: Signals) {
  const steps = new Map(recorded.map(step => [step.n, step]))
  let next = 0

  return {
    /** The index of the next step. */
    index: () => next,

    /** For a transaction that is run again, with its steps. */
    rewind(index: number) {
      next = index
    },

    isNextDone: () => steps.get(next)?.status === 'succeeded',

    /** Takes the next step. Throws where it has failed, where its record has another name, and where a new step may not begin. */
    take(name: string): StepPosition {
      const n = next++
      const step = steps.get(n)
      // Another name means that the definition changed under the run.
      if (step && step.name !== name) {
        throw new StepFailed(`step ${n} is "${name}" in the definition but was recorded as "${step.name}": the run's version has changed`)
      }
      if (step?.status === 'failed') throw new StepFailed(step.attempts.at(-1)?.error ?? 'failed')
      if (step?.status !== 'succeeded') {
        if (lease.aborted || !isHeld()) throw new LeaseLost(`run ${run.id} belongs to another worker`)
        if (stopping.aborted) throw new Interrupted('the process stops')
      }
      return { n, name, recorded: step }
    },
  }
}

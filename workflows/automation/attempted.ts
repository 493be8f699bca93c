import { apiTime } from '../../store/connect.ts'
import { beginAttempt } from '../engine/attempt.ts'
import type { Attempted, DueStep } from './record-step.ts'
import type { StepKind, StepOutcome } from './step-kind.ts'

export type Attempts = ReturnType<typeof beginAttempt>

export const beginStepAttempt = ({ context: { recorded, now } }: DueStep): Attempts => beginAttempt(recorded?.attempts ?? [], apiTime(now))

/** The outcome of a step that is a transaction. A wait that is looked at again has begun already: the look is no attempt. */
export function attemptedBy(
  { effect }: Pick<StepKind, 'effect'>,
  { context: { recorded } }: DueStep,
  outcome: StepOutcome,
  attempts: Attempts,
): Attempted {
  const isAttempt = effect && recorded?.status !== 'waiting'
  return { outcome, attempts: isAttempt ? attempts(null) : (recorded?.attempts ?? []) }
}

import type { RunContext, StepScope } from '../engine/workflow.ts'

/** The recorded result of an attempt: done; or the reason why it must be repeated, and the wait that the store states. */
export type StoreAttempt = { is: 'done' } | { is: 'later'; why: string; afterMs: number | null }

/**
 * Repeats a request to a store after each of the waits (seconds), on the clock of the run, until there is an answer. Each attempt and each
 * wait is recorded. False: there was no answer.
 */
export async function repeatUntilDone(
  { step, sleep }: Pick<RunContext, 'step' | 'sleep'>,
  name: string,
  waits: readonly number[],
  attempt: (scope: StepScope) => Promise<StoreAttempt>,
): Promise<boolean> {
  for (const [n, wait] of [...waits, null].entries()) {
    const attempted = await step(`${name}-${n + 1}`, attempt)
    if (attempted.is === 'done') return true
    if (wait !== null) await sleep(`wait-${n + 1}`, Math.max(wait, (attempted.afterMs ?? 0) / 1000))
  }
  return false
}

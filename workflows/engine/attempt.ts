import { LeaseLost } from '../../domain/durable/jobs/job.ts'
import { UNRECORDED } from '../../domain/durable/jobs/lapse.ts'
import type { Attempt } from '../../domain/durable/jobs/record.ts'
import type { Signals } from './handler.ts'
import { RetryAt, type RetryPolicy, StopRetrying, waitAfter } from './policy.ts'

// The rules of attempts, for the steps of workflows, the steps of automations and deliveries alike. The records differ: each of the three
// writes other rows, many of them in one statement.

/** The signals that end a job at once: the lease is lost, or the process can wait no longer. */
export type EndSignals = Pick<Signals, 'lease' | 'halt'>

export type EffectResult<T> = { durationMs: number } & ({ is: 'done'; result: T } | { is: 'thrown'; error: unknown; isOvertime: boolean })

/**
 * Runs an effect under the time limit of an attempt and measures it. The effect's signal aborts when the time is over, the lease is lost
 * or the process can wait no longer. `isOvertime`: the time was over when the effect failed.
 */
export async function runEffect<T>(
  limitMs: number,
  ends: readonly AbortSignal[],
  effect: (signal: AbortSignal) => Promise<T>,
): Promise<EffectResult<T>> {
  const began = performance.now()
  const overtime = new AbortController()
  const timer = setTimeout(() => overtime.abort(new Error(`took longer than ${limitMs} ms`)), limitMs)
  const durationMs = () => Math.round(performance.now() - began)
  try {
    const result = await effect(AbortSignal.any([...ends, overtime.signal]))
    return { is: 'done', result, durationMs: durationMs() }
  } catch (error) {
    return { is: 'thrown', error, isOvertime: overtime.signal.aborted, durationMs: durationMs() }
  } finally {
    clearTimeout(timer)
  }
}

const nextNumber = (earlier: readonly Attempt[]): number => (earlier.at(-1)?.number ?? 0) + 1

/** Begins an attempt. Returns a function for the record of all attempts including this one; the attempt ends when the function is called. */
export function beginAttempt(earlier: readonly Attempt[], startedAt: string): (error: string | null) => Attempt[] {
  const began = performance.now()
  return error => [
    ...earlier,
    { number: nextNumber(earlier), started_at: startedAt, duration_ms: Math.round(performance.now() - began), error },
  ]
}

/** An effect that ends its process each time is tried for ever: the most unrecorded attempts that are kept. */
const KEPT_LAPSES = 20

/** The attempts and one that its worker did not record before it ended, which began at that time; the last 20 of such are kept. */
export function withLapse(earlier: readonly Attempt[], startedAt: string): Attempt[] {
  const all = [...earlier, { number: nextNumber(earlier), started_at: startedAt, duration_ms: null, error: UNRECORDED }]
  const lapses = all.filter(isLapse)
  return lapses.length <= KEPT_LAPSES ? all : all.filter(attempt => attempt !== lapses[0])
}

const isLapse = ({ duration_ms }: Attempt): boolean => duration_ms === null

/** The number of attempts that count for the policy: it is unknown whether an unrecorded attempt failed. */
export const countedAttempts = (attempts: readonly Attempt[]): number => attempts.filter(attempt => !isLapse(attempt)).length

/** Why a worker drops a job without recording its failure: another worker has the lease, or the process stops and gives the job back. */
export type JobLoss = { is: 'lost' } | { is: 'interrupted' }

/** An error of a lost or interrupted job says nothing about the effect: the signals caused it. */
export function jobLoss(error: unknown, { lease, halt }: EndSignals): JobLoss | null {
  if (error instanceof LeaseLost || lease.aborted) return { is: 'lost' }
  return halt.aborted ? { is: 'interrupted' } : null
}

/** Seconds until the next attempt after `attempts` failed ones; null when there is none. The receiver's own time replaces the policy's wait. */
export function nextWait(policy: RetryPolicy, attempts: number, retryAfterSeconds: number | null): number | null {
  const wait = waitAfter(policy, attempts)
  return wait === null ? null : (retryAfterSeconds ?? wait)
}

/** `attempts`: how many have failed, this one included. */
export type FailedAttempt = { policy: RetryPolicy; attempts: number; error: unknown; signals: EndSignals }

/** `stopped`: the error says that no repeat will help; `exhausted`: the policy's attempts are used up. */
export type AfterFailure = JobLoss | { is: 'retry'; afterSeconds: number } | { is: 'failed'; why: 'stopped' | 'exhausted' }

/** Decides what follows a failed attempt. */
export function afterFailure({ policy, attempts, error, signals }: FailedAttempt): AfterFailure {
  const loss = jobLoss(error, signals)
  if (loss) return loss
  if (error instanceof StopRetrying) return { is: 'failed', why: 'stopped' }
  const afterSeconds = nextWait(policy, attempts, error instanceof RetryAt ? error.seconds : null)
  return afterSeconds === null ? { is: 'failed', why: 'exhausted' } : { is: 'retry', afterSeconds }
}

import { now } from '../../domain/environment.ts'
import type { ClaimedRun } from '../../domain/runs/begin.ts'
import { type Attempt, holdFence, LeaseLost, type RecordedStep, suspendRun, writeStep } from '../../domain/runs/record.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { AtCrashPoint } from './crash-point.ts'
import { messageOf } from './message-of.ts'
import type { Signals } from './performer.ts'
import { PartlyDone, type Policies, RetryAt, type RetryPolicy, StopRetrying, waitAfter } from './policy.ts'
import type { RunContext, StepOptions, StepScope } from './workflow.ts'

/** Control flow: the run lives on, but not now and not necessarily here. */
export class Suspended extends Error {
  /** An attempt failed; otherwise the run only waits. */
  readonly isRetry: boolean
  constructor(message: string, isRetry: boolean) {
    super(message)
    this.isRetry = isRetry
  }
}
/** The process stops: the run is given back. */
export class Interrupted extends Error {}
/** A step has used up its attempts, or must not be repeated; `cause` is what it died of. */
export class StepFailed extends Error {}

export type ContextOptions = {
  pool: Pool
  policies: Policies
  run: ClaimedRun
  recorded: RecordedStep[]
  signals: Signals
  at: AtCrashPoint
}

type Place = { n: number; step: RecordedStep | undefined }
type Done<T> = (tx: Tx, result: T) => Promise<void>
type Repeated = { policy: RetryPolicy; limitMs: number; failing?: StepOptions<never>['failing'] }

export function runContext({ pool, policies, run, recorded, signals, at }: ContextOptions): RunContext {
  const { lease, stopping, halt } = signals
  const steps = new Map(recorded.map(step => [step.n, step]))
  let next = 0

  /** The next step's place and what is recorded of it. Another name there means that the definition changed under the run. */
  function take(name: string): Place {
    const n = next++
    const step = steps.get(n)
    if (step && step.name !== name) {
      throw new StepFailed(`step ${n} is "${name}" in the definition but was recorded as "${step.name}": the run's version has changed`)
    }
    if (step?.status === 'failed') throw new StepFailed(step.attempts.at(-1)?.error ?? 'failed')
    if (step?.status !== 'succeeded') {
      if (lease.aborted || !signals.isHeld()) throw new LeaseLost(`run ${run.id} belongs to another worker`)
      if (stopping.aborted) throw new Interrupted('the process stops')
    }
    return { n, step }
  }

  const fenced = <T>(work: (tx: Tx) => Promise<T>) =>
    transaction(pool, async tx => {
      await holdFence(tx, run)
      return work(tx)
    })

  /** Seconds until the next attempt; null when there is none. */
  function waitOf(error: unknown, policy: RetryPolicy, failed: number): number | null {
    const wait = error instanceof StopRetrying ? null : waitAfter(policy, failed)
    return wait !== null && error instanceof RetryAt ? error.seconds : wait
  }

  type Failed = { name: string; startedAt: string; attempts: Attempt[]; error: unknown }
  async function failAttempt({ n, step }: Place, { policy, failing }: Repeated, failed: Failed): Promise<never> {
    const { name, startedAt, attempts, error } = failed
    const wait = waitOf(error, policy, attempts.length)
    // For the next attempt only: what ends in failure is not kept.
    const kept = wait === null ? null : error instanceof PartlyDone ? error.kept : step?.result
    await fenced(async tx => {
      await failing?.(tx, { attempts: attempts.length, isLast: wait === null, error })
      await writeStep(tx, run, { n, name, status: wait === null ? 'failed' : 'running', result: kept, attempts, startedAt })
      if (wait !== null) await suspendRun(tx, run, 'running', wait)
    })
    if (wait === null) throw new StepFailed(messageOf(error), { cause: error })
    throw new Suspended(`step ${name} failed, next attempt in ${Math.round(wait)} s: ${messageOf(error)}`, true)
  }

  async function perform<T>(
    name: string,
    act: (scope: StepScope, done: Done<T>, attempt: number) => Promise<T>,
    repeated: Repeated = { policy: policies.step, limitMs: policies.step.attemptLimitMs },
  ): Promise<T> {
    const place = take(name)
    if (place.step?.status === 'succeeded') return place.step.result as T
    const startedAt = await now(pool, run.environment)
    const began = performance.now()
    const earlier = place.step?.attempts ?? []
    const attempts = (error: string | null): Attempt[] => [
      ...earlier,
      { number: earlier.length + 1, started_at: startedAt, duration_ms: Math.round(performance.now() - began), error },
    ]
    const overtime = new AbortController()
    const { limitMs } = repeated
    const timer = setTimeout(() => overtime.abort(new Error(`took longer than ${limitMs} ms`)), limitMs)
    const signal = AbortSignal.any([lease, halt, overtime.signal])
    const scope = { signal, key: `${run.id}:${name}`, kept: place.step?.result ?? null, fence: run.fence }
    try {
      at('before-effect')
      const done: Done<T> = (tx, result) =>
        writeStep(tx, run, { n: place.n, name, status: 'succeeded', result, attempts: attempts(null), startedAt })
      const result = await act(scope, done, earlier.length + 1)
      at('recorded')
      return result
    } catch (error) {
      if (error instanceof LeaseLost || lease.aborted) throw new LeaseLost(messageOf(error))
      if (halt.aborted) throw new Interrupted(messageOf(error))
      return await failAttempt(place, repeated, { name, startedAt, attempts: attempts(messageOf(error)), error })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    environment: run.environment,
    subject: run.subject,
    run: run.id,

    transact: (name, work) =>
      perform(name, (_scope, done) =>
        fenced(async tx => {
          const result = await work(tx)
          await done(tx, result)
          return result
        }),
      ),

    step: (name, effect, { record, failing, policy = 'step', limitMs = policies[policy].attemptLimitMs } = {}) =>
      perform(
        name,
        async (scope, done, attempt) => {
          const result = await effect(scope)
          at('after-effect')
          await fenced(async tx => {
            await record?.(tx, result, attempt)
            await done(tx, result)
          })
          return result
        },
        { policy: policies[policy], limitMs, failing },
      ),

    async sleep(name, seconds) {
      const { n, step } = take(name)
      if (step?.status === 'succeeded') return
      const over = step?.is_due === true
      const startedAt = await now(pool, run.environment)
      await fenced(async tx => {
        await writeStep(tx, run, { n, name, status: over ? 'succeeded' : 'waiting', startedAt }, seconds)
        if (!over) await suspendRun(tx, run, 'waiting', seconds)
      })
      if (!over) throw new Suspended(`sleeps for ${seconds} s`, false)
    },
  }
}

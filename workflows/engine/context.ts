import { now } from '../../domain/environment.ts'
import type { ClaimedRun } from '../../domain/runs/begin.ts'
import { type Attempt, holdFence, LeaseLost, type RecordedStep, suspendRun, writeStep } from '../../domain/runs/record.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { AtCrashPoint } from './crash-point.ts'
import type { Signals } from './performer.ts'
import { type Policies, StopRetrying, waitAfter } from './policy.ts'
import type { RunContext, StepScope } from './workflow.ts'

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

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 1000)

export function runContext({ pool, policies, run, recorded, signals, at }: ContextOptions): RunContext {
  const { lease, stopping, halt } = signals
  const steps = new Map(recorded.map(step => [step.n, step]))
  const policy = policies.step
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

  async function failAttempt({ n }: Place, name: string, startedAt: string, attempts: Attempt[], error: unknown): Promise<never> {
    const wait = error instanceof StopRetrying ? null : waitAfter(policy, attempts.length)
    await fenced(async tx => {
      await writeStep(tx, run, { n, name, status: wait === null ? 'failed' : 'running', attempts, startedAt })
      if (wait !== null) await suspendRun(tx, run, 'running', wait)
    })
    if (wait === null) throw new StepFailed(messageOf(error), { cause: error })
    throw new Suspended(`step ${name} failed, next attempt in ${Math.round(wait)} s: ${messageOf(error)}`, true)
  }

  async function perform<T>(
    name: string,
    act: (scope: StepScope, done: Done<T>) => Promise<T>,
    limitMs = policy.attemptLimitMs,
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
    const timer = setTimeout(() => overtime.abort(new Error(`took longer than ${limitMs} ms`)), limitMs)
    const scope = { signal: AbortSignal.any([lease, halt, overtime.signal]), key: `${run.id}:${name}`, fence: run.fence }
    try {
      at('before-effect')
      const done = await act(scope, (tx, result) =>
        writeStep(tx, run, { n: place.n, name, status: 'succeeded', result, attempts: attempts(null), startedAt }),
      )
      at('recorded')
      return done
    } catch (error) {
      if (error instanceof LeaseLost || lease.aborted) throw new LeaseLost(messageOf(error))
      if (halt.aborted) throw new Interrupted(messageOf(error))
      return await failAttempt(place, name, startedAt, attempts(messageOf(error)), error)
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

    step: (name, effect, { record, limitMs } = {}) =>
      perform(
        name,
        async (scope, done) => {
          const result = await effect(scope)
          at('after-effect')
          await fenced(async tx => {
            await record?.(tx, result)
            await done(tx, result)
          })
          return result
        },
        limitMs,
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

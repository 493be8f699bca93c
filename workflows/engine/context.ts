import { now } from '../../domain/environment.ts'
import {
  type Attempt,
  endRun,
  finishRun,
  LeaseLost,
  lockFence,
  type RecordedStep,
  suspendRun,
  writeStep,
} from '../../domain/jobs/record.ts'
import type { ClaimedRun } from '../../domain/jobs/workflow-run.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { AtCrashPoint } from './crash-point.ts'
import type { Signals } from './handler.ts'
import { messageOf, PartlyDone, type Policies, RetryAt, type RetryPolicy, StopRetrying, waitAfter } from './policy.ts'
import type { RunContext, StepOptions, Transacting } from './workflow.ts'

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
type Doing = Place & { name: string; startedAt: string; began: number }
type Repeated = { policy: RetryPolicy; failing?: StepOptions<never>['failing'] | undefined }

/** `end`: the run has come to its end, with everything of it recorded. */
export type OwnContext = RunContext & { end(): Promise<void> }

export function runContext({ pool, policies, run, recorded, signals, at }: ContextOptions): OwnContext {
  const { lease, stopping, halt } = signals
  const steps = new Map(recorded.map(step => [step.n, step]))
  let next = 0
  let hasEnded = false
  /** Records of what was done and goes with the run's next transaction. */
  let unrecorded: ((tx: Tx) => Promise<void>)[] = []

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

  async function fenced<T>(work: (tx: Tx, now: string) => Promise<T>): Promise<T> {
    const result = await transaction(pool, async tx => {
      const now = await lockFence(tx, run)
      for (const record of unrecorded) await record(tx)
      return work(tx, now)
    })
    unrecorded = []
    return result
  }

  const attemptsOf = ({ step, startedAt, began }: Doing, error: string | null): Attempt[] => {
    const earlier = step?.attempts ?? []
    return [...earlier, { number: earlier.length + 1, started_at: startedAt, duration_ms: Math.round(performance.now() - began), error }]
  }

  const record = (tx: Tx, doing: Doing, result: unknown, attempts = attemptsOf(doing, null)) =>
    writeStep(tx, run, { n: doing.n, name: doing.name, status: 'succeeded', result, attempts, startedAt: doing.startedAt })

  /** Seconds until the next attempt; null when there is none. */
  function waitOf(error: unknown, policy: RetryPolicy, failed: number): number | null {
    const wait = error instanceof StopRetrying ? null : waitAfter(policy, failed)
    return wait !== null && error instanceof RetryAt ? error.seconds : wait
  }

  async function failAttempt(doing: Doing, { policy, failing }: Repeated, error: unknown): Promise<never> {
    if (error instanceof LeaseLost || lease.aborted) throw new LeaseLost(messageOf(error))
    if (halt.aborted) throw new Interrupted(messageOf(error))
    const { n, step, name, startedAt } = doing
    const attempts = attemptsOf(doing, messageOf(error))
    const wait = waitOf(error, policy, attempts.length)
    // For the next attempt only: what ends in failure is not kept.
    const result = wait === null ? null : error instanceof PartlyDone ? error.kept : step?.result
    await fenced(async tx => {
      await failing?.(tx, { attempts: attempts.length, isLast: wait === null, error })
      await writeStep(tx, run, { n, name, status: wait === null ? 'failed' : 'running', result, attempts, startedAt })
      if (wait !== null) await suspendRun(tx, run, 'running', wait)
    })
    if (wait === null) throw new StepFailed(messageOf(error), { cause: error })
    throw new Suspended(`step ${name} failed, next attempt in ${Math.round(wait)} s: ${messageOf(error)}`, true)
  }

  async function together<T>(work: (steps: Transacting) => Promise<T>, ends = false): Promise<T> {
    const first = next
    let doing: Doing | undefined
    try {
      const result = await fenced(async (tx, startedAt) => {
        // The transaction may be run anew: so are its steps.
        next = first
        doing = undefined
        const done = await work({
          async transact<R>(name: string, effect: (tx: Tx) => Promise<R>): Promise<R> {
            const place = take(name)
            if (place.step?.status === 'succeeded') return place.step.result as R
            doing = { ...place, name, startedAt, began: performance.now() }
            at('before-effect')
            const result = await effect(tx)
            await record(tx, doing, result)
            return result
          },
        })
        if (ends) await finishRun(tx, run, 'succeeded', null)
        return done
      })
      at('recorded')
      hasEnded = ends
      return result
    } catch (error) {
      // Not what a step died of, but that it may not begin.
      if (!doing || error instanceof Interrupted || error instanceof StepFailed) throw error
      return await failAttempt(doing, { policy: policies.step }, error)
    }
  }

  return {
    environment: run.environment,
    subject: run.subject,
    run: run.id,

    async transact(name, work) {
      if (steps.get(next)?.status !== 'succeeded') return together(one => one.transact(name, work))
      return take(name).step!.result as Awaited<ReturnType<typeof work>>
    },

    together: (work, { ends = false } = {}) => together(work, ends),

    async step(
      name,
      effect,
      { record: recording, failing, withNext = false, policy = 'step', limitMs = policies[policy].attemptLimitMs } = {},
    ) {
      const place = take(name)
      if (place.step?.status === 'succeeded') return place.step.result as Awaited<ReturnType<typeof effect>>
      const doing = { ...place, name, startedAt: await now(pool, run.environment), began: performance.now() }
      const overtime = new AbortController()
      const timer = setTimeout(() => overtime.abort(new Error(`took longer than ${limitMs} ms`)), limitMs)
      const signal = AbortSignal.any([lease, halt, overtime.signal])
      const scope = { signal, key: `${run.id}:${name}`, kept: place.step?.result ?? null, fence: run.fence }
      try {
        at('before-effect')
        const result = await effect(scope)
        at('after-effect')
        const attempts = attemptsOf(doing, null)
        const write = async (tx: Tx) => {
          await recording?.(tx, result, attempts.length)
          await record(tx, doing, result, attempts)
        }
        if (withNext) unrecorded.push(write)
        else await fenced(write)
        at('recorded')
        return result
      } catch (error) {
        return await failAttempt(doing, { policy: policies[policy], failing }, error)
      } finally {
        clearTimeout(timer)
      }
    },

    async sleep(name, seconds) {
      const { n, step } = take(name)
      if (step?.status === 'succeeded') return
      const over = step?.is_due === true
      await fenced(async (tx, startedAt) => {
        await writeStep(tx, run, { n, name, status: over ? 'succeeded' : 'waiting', startedAt }, seconds)
        if (!over) await suspendRun(tx, run, 'waiting', seconds)
      })
      if (!over) throw new Suspended(`sleeps for ${seconds} s`, false)
    },

    async end() {
      if (hasEnded) return
      if (unrecorded.length > 0) await fenced(tx => finishRun(tx, run, 'succeeded', null))
      else await endRun(pool, run)
    },
  }
}

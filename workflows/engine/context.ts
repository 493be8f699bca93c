import { finishRun, type RecordedStep, suspendRun, writeSteps } from '../../domain/durable/jobs/record.ts'
import type { ClaimedRun } from '../../domain/durable/jobs/workflow-run.ts'
import { now } from '../../domain/kernel/environment.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { span } from '../../store/tracing.ts'
import { runEffect } from './attempt.ts'
import { Interrupted, StepFailed, Suspended } from './control-flow.ts'
import type { AtCrashPoint } from './crash-point.ts'
import type { Signals } from './handler.ts'
import type { Policies } from './policy.ts'
import { type RunRecords, runRecords } from './run-records.ts'
import { beginStep, type StepAttempt, type StepCursor, stepCursor } from './step-cursor.ts'
import type { RunContext, StepOptions, StepScope, Transacting } from './workflow.ts'

export type ContextOptions = {
  pool: Pool
  policies: Policies
  run: ClaimedRun
  recorded: RecordedStep[]
  signals: Signals
  at: AtCrashPoint
}

type Context = Omit<ContextOptions, 'recorded'> & { cursor: StepCursor; records: RunRecords }

/** `end`: ends the run after its workflow, with all its steps recorded. */
export type OwnContext = RunContext & { end(): Promise<void> }

/** Several steps, and the run's end if `ends`, in one transaction. */
async function together<T>(context: Context, work: (steps: Transacting) => Promise<T>, ends: boolean): Promise<T> {
  const { run, cursor, records, policies, at } = context
  const first = cursor.index()
  let attempt: StepAttempt | undefined
  try {
    const result = await records.transact(async (tx, startedAt) => {
      // The transaction may be run again, and its steps with it.
      cursor.rewind(first)
      attempt = undefined
      const done = await work({
        async transact<R>(name: string, effect: (tx: Tx) => Promise<R>): Promise<R> {
          const position = cursor.take(name)
          if (position.recorded?.status === 'succeeded') return position.recorded.result as R
          attempt = beginStep(position, startedAt)
          at('before-effect')
          const result = await span(`step ${name}`, {}, () => effect(tx))
          records.succeed(attempt, result)
          return result
        },
      })
      if (ends) await finishRun(tx, run, 'succeeded', null)
      return done
    })
    at('recorded')
    return result
  } catch (error) {
    // No attempt has failed if no step has begun, or if the next step may not begin.
    if (!attempt || error instanceof Interrupted || error instanceof StepFailed) throw error
    return await records.fail(attempt, { error, policy: policies.step, isOutward: false })
  }
}

/** One step with an outward effect: the effect first, then its record. */
async function step<T>(context: Context, name: string, effect: (scope: StepScope) => Promise<T>, options: StepOptions<T>): Promise<T> {
  const { pool, run, cursor, records, policies, signals, at } = context
  const { record, failing, withNext = false } = options
  const position = cursor.take(name)
  if (position.recorded?.status === 'succeeded') return position.recorded.result as T
  position.recorded = await records.withLapse(position)
  const policy = policies[options.policy ?? 'step']
  const attempt = beginStep(position, await now(pool, run.environment))
  try {
    at('before-effect')
    const scope = { key: `${run.id}:${name}`, partialResult: position.recorded?.result ?? null, fence: run.fence }
    const ends = [signals.lease, signals.halt]
    signals.effectBegins()
    const ran = await runEffect(options.limitMs ?? policy.attemptLimitMs, ends, signal => effect({ ...scope, signal }))
    if (ran.is === 'thrown') throw ran.error
    at('after-effect')
    const attempts = attempt.attemptsWith(null)
    const write = async (tx: Tx) => {
      await record?.(tx, ran.result, attempts.length)
      records.succeed(attempt, ran.result, attempts)
    }
    if (withNext) records.postpone(write)
    else await records.transact(write, true)
    at('recorded')
    return ran.result
  } catch (error) {
    return await records.fail(attempt, { error, policy, isOutward: true, failing })
  }
}

/** A step that begins to wait, or ends because its stored deadline has passed. */
async function sleep({ run, cursor, records }: Context, name: string, seconds: number): Promise<void> {
  const { n, recorded } = cursor.take(name)
  if (recorded?.status === 'succeeded') return
  const isOver = recorded?.is_due === true
  await records.transact(async (tx, startedAt) => {
    await records.takeLapseIn(tx)
    await writeSteps(tx, run, [{ n, name, status: isOver ? 'succeeded' : 'waiting', startedAt }], seconds)
    if (!isOver) await suspendRun(tx, run, 'waiting', seconds)
  })
  if (!isOver) throw new Suspended(`sleeps for ${seconds} s`, false)
}

/** The part of its run that a workflow's `run` can use. */
export function runContext({ pool, policies, run, recorded, signals, at }: ContextOptions): OwnContext {
  const cursor = stepCursor(run, recorded, signals)
  const records = runRecords(pool, run, signals)
  const context: Context = { pool, policies, run, signals, at, cursor, records }
  let hasEnded = false
  return {
    environment: run.environment,
    subject: run.subject,
    run: run.id,

    async transact(name, work) {
      if (!cursor.isNextDone()) return together(context, steps => steps.transact(name, work), false)
      return cursor.take(name).recorded!.result as Awaited<ReturnType<typeof work>>
    },

    async together(work, { ends = false } = {}) {
      const result = await together(context, work, ends)
      hasEnded = ends
      return result
    },

    step: (name, effect, options = {}) =>
      cursor.isNextDone() ? step(context, name, effect, options) : span(`step ${name}`, {}, () => step(context, name, effect, options)),
    sleep: (name, seconds) => sleep(context, name, seconds),

    async end() {
      if (!hasEnded) await records.end()
    },
  }
}

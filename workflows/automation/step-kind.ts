import type { Step, StepType } from '../../domain/automations/automation-runs/definition.ts'
import type { AutomationRun, TimelineStep } from '../../domain/automations/automation-runs/load.ts'
import type { RunOccurrence } from '../../domain/automations/automation-runs/trigger.ts'
import type { InsertCapacity } from '../../domain/durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import type { Pool, Tx } from '../../store/connect.ts'

/** The triggering event. It is deleted only with its user, and the run with them: a worker that misses the event is about to lose the run. */
export async function requireTrigger(triggerOf: StepDeps['triggerOf'], run: AutomationRun): Promise<RunOccurrence> {
  const occurrence = await triggerOf(run)
  if (!occurrence) throw new Error(`the event of run ${run.id} is gone`)
  return occurrence
}

/** Thrown by an effect without a receiver: the step is recorded as skipped for this reason, and the run continues. */
export class StepSkipped extends Error {}

/**
 * The outcome of a step. `waiting`: the run waits until then, or until it is woken, and the step is executed again.
 */
export type StepOutcome =
  | { is: 'succeeded'; result: object | null; dueAt?: string }
  | { is: 'skipped'; reason: string }
  | { is: 'failed'; reason: string; result?: object }
  | { is: 'waiting'; until: string }

/** `dueAt`: the deadline of a step that waited. */
export const succeeded = (result: object | null, dueAt?: string): StepOutcome => ({ is: 'succeeded', result, ...(dueAt && { dueAt }) })
export const skipped = (reason: string): StepOutcome => ({ is: 'skipped', reason })
export const failed = (reason: string, result?: object): StepOutcome => ({ is: 'failed', reason, ...(result && { result }) })

/** Times as Postgres writes them, with microseconds. */
export type StepContext<S extends Step = Step> = {
  step: S
  run: AutomationRun
  /** The run's steps so far, in order; this step is the last one if it has begun before. */
  timeline: readonly TimelineStep[]
  /** The record of this step, if it has begun before. */
  recorded: TimelineStep | undefined
  /** When the first attempt of this step began. */
  began: string
  /** The environment's now, as of the last statement. */
  now: string
  /** The trace of the step, for the rows that carry it on: many runs share a transaction, and each has its own. */
  trace?: string | null
}

/** The parameters of an outward effect besides its step. */
export type EffectScope = {
  /** Aborts when the lease is lost, the attempt's time is over, or the process can wait no longer. */
  signal: AbortSignal
  /** The same at every attempt: `{run_id}:{step_id}`. */
  key: string
}

/**
 * The outward effects. They throw `StepSkipped` (there is no receiver), `StopRetrying` with the step's code as message (no repeat will
 * help), `RetryAt` (the receiver named the time), and any other error when a repeat may help.
 */
export type Effects = {
  sendEmail(environment: Environment, email: Email): Promise<{ to: string; message_id: string | null }>
  sendPush(environment: Environment, push: PushToSend): Promise<{ provider: string; provider_message_id: string | null }>
}
/** Without `to` the e-mail goes to the user's property `_q_email`. Placeholders are filled in already. */
export type Email = { to?: string; subject: string; text: string; occurrence: RunOccurrence } & EffectScope
/** `push`: id of the template. The effect fills in its placeholders. */
export type PushToSend = { push: string; occurrence: RunOccurrence } & EffectScope

/**
 * `outcomes`: one for each run, in order; an error: nothing was written for this run; null: the lease of the run is lost. `claimed`: the jobs
 * that were claimed on insert.
 */
export type GroupOutcome = { outcomes: (StepOutcome | Error | null)[]; claimed: ClaimedJob[] }

export type StepDeps = {
  pool: Pool
  effects: Effects
  /** The run's triggering event with the user's current state; null when it is deleted. */
  triggerOf(run: AutomationRun): Promise<RunOccurrence | null>
}

/** One type of step. `effect`: the step does something to a user or a receiver, and a paused automation does not begin it. */
export type StepKind<S extends Step = Step> =
  /** Decides from known or read data; recorded together with the steps of other runs. */
  | { by: 'decision'; effect?: boolean; decide(context: StepContext<S>, deps: StepDeps): Promise<StepOutcome> | StepOutcome }
  /** Writes to Postgres: its writes and its record are one transaction. */
  | { by: 'transaction'; effect?: boolean; transact(tx: Tx, context: StepContext<S>, deps: StepDeps): Promise<StepOutcome> }
  /**
   * The same for many runs of one environment, in one transaction: either all of them begin the step, or all look again at one that waits. Inserts
   * jobs of the kind `inserts`, and may claim them within the `capacity`.
   */
  | {
      by: 'group'
      effect: true
      inserts: string
      transactAll(tx: Tx, contexts: readonly StepContext<S>[], capacity: InsertCapacity | null): Promise<GroupOutcome>
    }
  /** Has an outward effect. `failure`: the step's code once its attempts are used up. */
  | {
      by: 'effect'
      effect: true
      type: EffectType
      failure: string
      act(context: StepContext<S>, scope: EffectScope, deps: StepDeps): Promise<StepOutcome>
    }

/** The types of steps with an outward effect. */
export type EffectType = 'email' | 'push'

export type StepKinds = { [T in StepType]: StepKind<Extract<Step, { type: T }>> }

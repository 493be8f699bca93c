import type { Step, StepType } from '../../domain/automation-runs/definition.ts'
import type { AutomationRun, TimelineStep } from '../../domain/automation-runs/load.ts'
import type { RunOccurrence } from '../../domain/automation-runs/trigger.ts'
import type { Environment } from '../../domain/environment.ts'
import type { InsertCapacity } from '../../domain/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/jobs/job.ts'
import type { Pool, Tx } from '../../store/connect.ts'

/** The triggering event, which goes only with its user, and then the run goes too: whoever misses it is about to lose the run. */
export async function requireTrigger(triggerOf: StepDeps['triggerOf'], run: AutomationRun): Promise<RunOccurrence> {
  const occurrence = await triggerOf(run)
  if (!occurrence) throw new Error(`the event of run ${run.id} is gone`)
  return occurrence
}

/** Thrown by an effect that has nobody to go to: the step is recorded as skipped for this reason, and the run goes on. */
export class StepSkipped extends Error {}

/**
 * What a step came to. `waiting`: the run rests until then, or until it is woken, and the step is asked again. `make`: what it waits for
 * is made in the same transaction, and claimed perhaps.
 */
export type Verdict =
  | { is: 'succeeded'; result: object | null; dueAt?: string }
  | { is: 'skipped'; reason: string }
  | { is: 'failed'; reason: string; result?: object }
  | { is: 'waiting'; until: string; make?: () => Promise<ClaimedJob[]> }

/** `dueAt`: the deadline of a step that waited. */
export const succeeded = (result: object | null, dueAt?: string): Verdict => ({ is: 'succeeded', result, ...(dueAt && { dueAt }) })
export const skipped = (reason: string): Verdict => ({ is: 'skipped', reason })
export const failed = (reason: string, result?: object): Verdict => ({ is: 'failed', reason, ...(result && { result }) })

/** Times as Postgres writes them, with microseconds. */
export type StepInput<S extends Step = Step> = {
  step: S
  run: AutomationRun
  /** What the run has done so far, in order; this step is its last when it has begun before. */
  timeline: readonly TimelineStep[]
  /** This step as it is recorded, when it has begun before. */
  recorded: TimelineStep | undefined
  /** When this step began, at its first attempt. */
  began: string
  /** The environment's now, as of the last statement. */
  now: string
}

/** What an outward effect needs besides its step. */
export type EffectScope = {
  /** Aborts when the lease is lost, the attempt's time is over, or the process stops. */
  signal: AbortSignal
  /** The same at every attempt: `{run_id}:{step_id}`. */
  key: string
}

/**
 * The ways out. They throw `StepSkipped` (nobody to send to), `StopRetrying` whose message is the step's code (no repeat will mend
 * it), `RetryAt` (the receiver said when), and anything else when a repeat may help.
 */
export type Effects = {
  sendEmail(environment: Environment, email: Email): Promise<{ to: string; message_id: string | null }>
  sendPush(environment: Environment, push: PushToSend): Promise<{ provider: string; provider_message_id: string | null }>
}
/** `to` left out: the user's property `_q_email`. Placeholders are filled in already. */
export type Email = { to?: string; subject: string; text: string; occurrence: RunOccurrence } & EffectScope
/** `push`: id of the template, whose placeholders are filled in by whoever sends it. */
export type PushToSend = { push: string; occurrence: RunOccurrence } & EffectScope

export type StepDeps = {
  pool: Pool
  effects: Effects
  /** The run's triggering event with its user as he is now; null when it is gone. */
  triggerOf(run: AutomationRun): Promise<RunOccurrence | null>
}

/** One type of step. `effect`: something that happens to somebody, which a paused automation does not begin. */
export type StepKind<S extends Step = Step> =
  /** Decides by what is known, or by reading; recorded along with other runs' steps. */
  | { by: 'decision'; effect?: boolean; decide(input: StepInput<S>, deps: StepDeps): Promise<Verdict> | Verdict }
  /**
   * Writes to Postgres: its writes and its record are one transaction. `plansOnce`: its statements have one sensible plan each. `makes`:
   * promises of this kind, which it may claim.
   */
  | {
      by: 'transaction'
      effect?: boolean
      plansOnce?: boolean
      makes?: string
      transact(tx: Tx, input: StepInput<S>, deps: StepDeps, room: InsertCapacity | null): Promise<Verdict>
    }
  /** Goes outside. `failure`: the step's code once its attempts are used up. */
  | { by: 'effect'; effect: true; failure: string; act(input: StepInput<S>, scope: EffectScope, deps: StepDeps): Promise<Verdict> }

export type StepKinds = { [T in StepType]: StepKind<Extract<Step, { type: T }>> }

import type { Environment } from '../../domain/environment.ts'
import type { Tx } from '../../store/connect.ts'
import type { Policies } from './policy.ts'

export type StepScope = {
  /** Aborts when the lease is lost, the attempt's time is over, or the process stops. */
  signal: AbortSignal
  /** The same at every attempt: what an outward effect carries so that its receiver can drop repeats. */
  key: string
  /** What a failed attempt has kept (`PartlyDone`), the last of those that did; null when there is nothing. */
  kept: unknown
  /** Different for every holder of the run: names for what two holders must not share. */
  fence: number
}

export type StepOptions<T> = {
  /** Writes along with the step's record, in the same transaction. `attempts`: how many it took. */
  record?: (tx: Tx, result: T, attempts: number) => Promise<void>
  /** Writes along with the record of a failed attempt, in the same transaction. `isLast`: the step has failed with it. */
  failing?: (tx: Tx, failure: { attempts: number; isLast: boolean; error: unknown }) => Promise<void>
  /**
   * Recorded in the run's next transaction instead of one of its own: for what follows at once. Should the process die before that, the
   * step is done again.
   */
  withNext?: boolean
  /** How it is repeated; `step` unless given. */
  policy?: keyof Policies
  /** Milliseconds that one attempt may take, where the policy's limit is too short. */
  limitMs?: number
}

export type Transacting = {
  /** An effect in Postgres: its writes and its record in one transaction that holds the fence. */
  transact<T>(name: string, work: (tx: Tx) => Promise<T>): Promise<T>
}

export type RunContext = Transacting & {
  readonly environment: Environment
  readonly subject: string
  /** The run's number: names for what two runs must not share. */
  readonly run: number
  /**
   * Several of them in one transaction: all or none are recorded, each by its name and in its place. `ends`: with them the run ends, and
   * `work` may be the last thing it does.
   */
  together<T>(work: (steps: Transacting) => Promise<T>, options?: { ends?: boolean }): Promise<T>
  /** An effect outside: at least once, with a stable key. */
  step<T>(name: string, effect: (scope: StepScope) => Promise<T>, options?: StepOptions<T>): Promise<T>
  /** Waits that many seconds of the environment's clock; the deadline is stored, no worker is held. */
  sleep(name: string, seconds: number): Promise<void>
}

/**
 * Steps are told apart by their order and checked by their names: on a later execution each recorded one returns what was recorded.
 * So `run` may decide by nothing but its context and the results of its steps.
 */
export type Workflow = {
  kind: string
  version: number
  /** Runs that one worker process holds at the same time. */
  concurrency: number
  run(context: RunContext): Promise<void>
  /** A step failed for good: says so on the run's subject, in the transaction that ends the run. */
  failed(tx: Tx, environment: Environment, subject: string, error: unknown): Promise<void>
}

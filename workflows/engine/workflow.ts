import type { Environment } from '../../domain/kernel/environment.ts'
import type { Tx } from '../../store/connect.ts'
import type { Policies } from './policy.ts'

export type StepScope = {
  /** Aborts when the lease is lost, the attempt's time is over, or the process can wait no longer. */
  signal: AbortSignal
  /** The same at every attempt: an outward effect sends it, so that the receiver can drop repeats. */
  key: string
  /** The result of the last earlier attempt that failed with `PartlyDone`; null when there is none. */
  partialResult: unknown
  /** Different for each worker that has claimed the run: part of a name that two workers must not share. */
  fence: number
}

export type StepOptions<T> = {
  /** Writes in the transaction that records the step. `attempts`: how many the step took. */
  record?: (tx: Tx, result: T, attempts: number) => Promise<void>
  /** Writes in the transaction that records a failed attempt. `isLast`: the step has failed with it; `afterSeconds`: until the next one. */
  failing?: (tx: Tx, failure: { attempts: number; isLast: boolean; afterSeconds: number | null; error: unknown }) => Promise<void>
  /**
   * Records the step in the run's next transaction instead of one of its own: for a step that another follows at once. If the process dies
   * before that transaction, the step is repeated.
   */
  withNext?: boolean
  /** How the step is repeated; `step` unless given. */
  policy?: keyof Policies
  /** Milliseconds that one attempt may take, where the policy's limit is too short. */
  limitMs?: number
}

export type Transacting = {
  /** An effect in Postgres: its writes and its record in one transaction that locks the fence. */
  transact<T>(name: string, work: (tx: Tx) => Promise<T>): Promise<T>
}

export type RunContext = Transacting & {
  readonly environment: Environment
  readonly subject: string
  /** The run's number: part of a name that two runs must not share. */
  readonly run: number
  /**
   * Several effects in one transaction: all of them are recorded or none, each under its own name and index. `ends`: the run ends in this
   * transaction, and `work` must be its last call.
   */
  together<T>(work: (steps: Transacting) => Promise<T>, options?: { ends?: boolean }): Promise<T>
  /** An outward effect: at least once, with a stable key. */
  step<T>(name: string, effect: (scope: StepScope) => Promise<T>, options?: StepOptions<T>): Promise<T>
  /** Waits that many seconds of the environment's clock. The deadline is stored, and no worker holds the run meanwhile. */
  sleep(name: string, seconds: number): Promise<void>
}

/**
 * Steps are identified by their index and checked by their names: on a later execution each recorded step returns its recorded result.
 * So `run` may base its decisions only on its context and on the results of its steps.
 */
export type Workflow = {
  kind: string
  version: number
  /** Runs that one worker process holds at the same time. */
  concurrency: number
  run(context: RunContext): Promise<void>
  /** A step has failed finally: records it on the run's subject, in the transaction that ends the run. */
  failed(tx: Tx, environment: Environment, subject: string, error: unknown): Promise<void>
}

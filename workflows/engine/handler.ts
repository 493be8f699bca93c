import type { InsertCapacity } from '../../domain/durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import type { Environment } from '../../domain/kernel/environment.ts'
import type { Within } from '../../store/tracing.ts'

/**
 * The outcome of one execution. `suspended`: due again later, because an attempt failed or because the job waits. `interrupted`: the job is to
 * be released. `lost`: another worker has the job.
 */
export type Outcome =
  | { is: 'succeeded' }
  | { is: 'failed'; why: string }
  | { is: 'suspended'; why: string; isRetry: boolean }
  | { is: 'interrupted' }
  | { is: 'lost' }

/**
 * For a transaction that inserts or wakes jobs of a kind and may claim them: calls `insert` with the capacity of this process (null: claim nothing).
 * When `insert` resolves, its transaction is committed: the jobs that it claimed are executed from then on, and those that it `ended` (ids) have
 * succeeded.
 */
export type ClaimOnInsert = <T extends { claimed: ClaimedJob[]; ended?: readonly number[] }>(
  kind: string,
  environments: readonly Environment[],
  insert: (capacity: InsertCapacity | null) => Promise<T>,
) => Promise<T>

/**
 * Records an effect that has happened outside of the database. `write` is repeated while the database is away, also after the lease has run
 * out: its fence check says whether another worker has claimed the job since. The job's lease is renewed meanwhile. Without this a restart of
 * the database would forget the answers that a living worker has, and their requests would be sent again.
 * `isRepeat`: the commit of an earlier try may have succeeded without an answer, so the record may be there already.
 */
export type UntilRecorded = <T>(write: (isRepeat: boolean) => Promise<T>) => Promise<T>

/**
 * Between the two calls an effect outside of the database may have happened that is not recorded. If the process ends the job then, the
 * next claim has `hasLapsed`.
 */
export type EffectMarks = { effectBegins(): void; effectRecorded(): void }

/**
 * For a handler that reads the trace of its job (`stored`) with the row that it loads: from then on its work is done within the job's span. The
 * span of all other jobs begins before their handler is called.
 */
export type Traced = (stored: string | null) => Promise<Within>
export const UNTRACED: Traced = async () => work => work()

export type Signals = EffectMarks & {
  traced: Traced
  claimOnInsert: ClaimOnInsert
  /** Aborts when the lease is lost. */
  lease: AbortSignal
  /** Is called right before each effect: in a process that was frozen for a while, `lease` may abort later than the next effect begins. */
  isHeld(): boolean
  untilRecorded: UntilRecorded
  /** Aborts when the process stops: the step under way may finish, no other step begins. */
  stopping: AbortSignal
  /** Aborts when the stopping process can wait no longer for the step under way. */
  halt: AbortSignal
}

/** Executes the jobs of one kind. */
export type JobHandler = {
  /** The kind of the `due` rows. */
  kind: string
  /** The most jobs that one worker process executes at the same time: in all, and for one destination. */
  concurrency: number
  perDestination?: number
  /**
   * The most jobs that are dispatched to one worker process: what it executes while the lease of a batch lasts. Unless given, the concurrency tells
   * it, for jobs of 40 ms that are all executed at the same time.
   */
  dispatched?: number
  /** The part (0..1) of the capacity that the other projects leave which one project may use. All of it unless given. */
  share?: number
  /** Whether the handler calls `traced`. */
  readsTrace?: true
  /** Executes a claimed job as far as possible now. Throws only when not even its failure could be recorded: the lease then expires. */
  handle(claimed: ClaimedJob, signals: Signals): Promise<Outcome>
}

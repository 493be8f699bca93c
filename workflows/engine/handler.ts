import type { Environment } from '../../domain/environment.ts'
import type { InsertCapacity } from '../../domain/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/jobs/job.ts'

/** What became of one execution. `suspended`: due again later, because an attempt failed or because it waits; `interrupted`: to be given back; `lost`: another worker has it. */
export type Outcome =
  | { is: 'succeeded' }
  | { is: 'failed'; why: string }
  | { is: 'suspended'; why: string; isRetry: boolean }
  | { is: 'interrupted' }
  | { is: 'lost' }

/**
 * For a transaction that makes promises of a kind, and may claim them: it is told what there is room for, and what it has claimed is held
 * once it is committed.
 */
export type ClaimOnInsert = <T extends { claimed: ClaimedJob[] }>(
  kind: string,
  environment: Environment,
  transact: (room: InsertCapacity | null) => Promise<T>,
) => Promise<T>

export type Signals = {
  claimOnInsert: ClaimOnInsert
  /** The lease is lost. */
  lease: AbortSignal
  /** Asked right before each effect: a process that was stopped for a while may wake up before its timers tell it of the loss. */
  isHeld(): boolean
  /** The process stops: the step under way may finish, no other begins. */
  stopping: AbortSignal
  /** The process can wait no longer for the step under way. */
  halt: AbortSignal
}

/** Turns the promises of one kind. */
export type JobHandler = {
  /** The kind of the `due` rows. */
  kind: string
  /** Promises that one worker process holds at the same time; of one environment, and of one destination. */
  concurrency: number
  perEnvironment?: number
  perDestination?: number
  /** Carries a claimed promise as far as it goes now. Throws only when not even its failure could be recorded: the lease then runs out. */
  handle(claimed: ClaimedJob, signals: Signals): Promise<Outcome>
}

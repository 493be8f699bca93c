import type { Logger } from 'pino'
import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { releaseLeases } from '../domain/durable/jobs/lease.ts'
import { BATCH_LEASE_MS, type Batch, type SpareCapacity, type SweepOffer, type SweepResult } from '../domain/durable/jobs/sweep.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import type { Pool } from '../store/connect.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import type { ClaimOnInsert, JobHandler, Outcome } from '../workflows/engine/handler.ts'
import { jobExecution } from './execute-job.ts'
import { failedJobs } from './failed-jobs.ts'
import { type KindExecutor, kindExecutor } from './kind-executor.ts'
import { knownProjects } from './known-projects.ts'
import { leases } from './leases.ts'

export type ExecutorOptions = {
  pool: Pool
  /** For heartbeats. */
  heartbeatPool: Pool
  handlers: JobHandler[]
  /** Real time. A lease is renewed every third of it. */
  leaseMs: number
  log: Logger
  onOutcome: (kind: string, outcome: Outcome['is'] | 'error') => void
  /** Something about jobs of the kind may have changed. */
  onChanged: (kind: string, environment: Environment) => void
  /** Is called with the number of claimed jobs of a batch: the window may have capacity for more. */
  onClaimed: (count: number) => void
  at: AtCrashPoint
}

/** How long the steps under way may take when the process stops, before they are aborted and their jobs released. */
const STOP_GRACE_MS = 5_000
/** With short leases a lost batch is also dispatched again sooner. */
const LEASES_OF_A_BATCH = 3

/**
 * Executes claimed jobs: as many of each kind as its capacity allows, with their leases alive. Jobs come in three ways: by batch, by a
 * sweep of this process that claims them, and by a statement of this process that inserts them.
 */
export function executor({ pool, heartbeatPool, handlers, leaseMs, log, onOutcome, onChanged, onClaimed, at }: ExecutorOptions) {
  const stop = new AbortController()
  const halt = new AbortController()
  const stopping = stop.signal
  const held = leases(heartbeatPool, leaseMs)
  const projects = knownProjects(pool)
  // The claim was sent to the database and may have been granted; the result has not arrived.
  const claims = new Set<Promise<unknown>>()

  function track<T>(claim: Promise<T>): Promise<T> {
    const tracked = claim.finally(() => claims.delete(tracked))
    claims.add(tracked)
    return tracked
  }

  /**
   * Calls `insert`, which commits, with the capacity of this process, and executes what it claimed. The capacity is not reserved meanwhile:
   * the jobs that do not fit any more wait. A process that stops releases them.
   */
  const claimOnInsert: ClaimOnInsert = async (kind, environments, insert) => {
    const executing = stopping.aborted ? undefined : kinds.get(kind)
    await projects.learn(environments)
    const capacity = executing?.forInsert(environments)
    const until = performance.now() + leaseMs
    const inserted = await insert(capacity ? { ...capacity, leaseMs } : null)
    const { claimed, ended = [] } = inserted
    for (const _id of ended) onOutcome(kind, 'succeeded')
    for (const environment of environments) onChanged(kind, environment)
    if (executing && !stopping.aborted) executing.executeOrWait(claimed.map(one => ({ claimed: one, until })))
    // The insert is committed, so an error here is not its error: the leases expire then.
    else await releaseLeases(pool, claimed).catch(error => log.warn({ err: error, kind }, 'claimed jobs could not be released'))
    return inserted
  }

  const signals = { claimOnInsert, stopping, halt: halt.signal }
  const { execute, allEnded } = jobExecution({
    pool,
    leases: held,
    signals,
    log,
    onOutcome,
    onChanged,
    onError: failedJobs({ pool, leaseMs, log }),
    at,
  })
  const batchMs = Math.min(BATCH_LEASE_MS, leaseMs * LEASES_OF_A_BATCH)
  const kinds = new Map<string, KindExecutor>(
    handlers.map(handler => [handler.kind, kindExecutor({ pool, handler, projects, execute, stopping, batchMs, log, onClaimed, track })]),
  )
  const limits = new Map([...kinds].map(([kind, { dispatchLimits }]) => [kind, dispatchLimits]))

  /** Calls `sweep` with the capacity that this process can spare, reserved until the sweep has ended, and executes what the sweep claimed. */
  async function claimBySweep(sweep: (offer: SweepOffer) => Promise<SweepResult | null>): Promise<SweepResult | null> {
    const offers = new Map<string, SpareCapacity>()
    for (const [kind, { offer }] of stopping.aborted ? [] : kinds) {
      const capacity = offer()
      if (capacity) offers.set(kind, capacity)
    }
    const until = performance.now() + leaseMs
    let claimed: ClaimedJob[] = []
    try {
      const swept = await sweep({ capacity: offers, leaseMs, batchMs, limits })
      claimed = swept?.claimed ?? []
      await projects.learn(claimed.map(({ environment }) => environment))
      return swept
    } finally {
      for (const [kind, capacity] of offers) kinds.get(kind)!.withdraw(capacity)
      for (const job of claimed) kinds.get(job.kind)!.execute({ claimed: job, until })
      for (const kind of offers.keys()) kinds.get(kind)!.capacityChanged()
    }
  }

  return {
    kinds: [...kinds.keys()],
    /** Resolves when the batch was taken, by this process or another one, or waits here for capacity. */
    takeBatch: async (kind: string, batch: Batch): Promise<void> => kinds.get(kind)?.takeBatch(batch),
    claimBySweep: (sweep: (offer: SweepOffer) => Promise<SweepResult | null>): Promise<SweepResult | null> => track(claimBySweep(sweep)),
    claimOnInsert,
    /** Claims no more, gives the steps under way a moment to end, and releases everything else. */
    async stop(): Promise<void> {
      stop.abort()
      for (const { wake } of kinds.values()) wake()
      const timer = setTimeout(() => halt.abort(new Error('the process stops')), STOP_GRACE_MS)
      await Promise.allSettled(claims)
      await Promise.all([...kinds.values()].map(kind => kind.releaseWaiting())).catch(error =>
        log.warn({ err: error }, 'waiting jobs could not be released'),
      )
      await allEnded()
      clearTimeout(timer)
      held.stop()
    },
  }
}

import type { Logger } from 'pino'
import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { noteUnbegun } from '../domain/durable/jobs/lapse.ts'
import { releaseLeases } from '../domain/durable/jobs/lease.ts'
import { BATCH_SIZE, type Batch } from '../domain/durable/jobs/sweep.ts'
import { groupsOfBatch, takeBatch } from '../domain/durable/jobs/take-batch.ts'
import type { Pool } from '../store/connect.ts'
import type { JobHandler } from '../workflows/engine/handler.ts'
import { capacity } from './capacity.ts'
import type { ExecuteJob } from './execute-job.ts'
import type { KnownProjects } from './known-projects.ts'
import { type Candidate, waitingJobs } from './waiting-jobs.ts'

/** A quarter of a batch's lease must be left when the batch is taken, and when one of its jobs begins: enough time to renew the lease. */
const MARGIN = 4
/** How often, within that time, waiting jobs are checked. */
const CHECKS = 2
const RETRY_MS = 200
/** The most jobs of a batch, as a multiple of the concurrency of its kind. More jobs would only wait in the process that takes the batch. */
const TURNS_OF_A_BATCH = 4
/** The jobs that may be dispatched for each worker, as a multiple of the concurrency: jobs of 40 ms end while the lease of their batch lasts. */
const TURNS_OF_A_WINDOW = 256
/** While a worker executes one batch, the next batches are announced. */
const BATCHES_OF_A_WINDOW = 4

export type KindExecutorOptions = {
  pool: Pool
  handler: JobHandler
  projects: KnownProjects
  execute: ExecuteJob
  stopping: AbortSignal
  /** The lease of a batch. */
  batchMs: number
  log: Logger
  /** Is called with the number of claimed jobs of a batch: the window may have capacity for more. */
  onClaimed: (count: number) => void
  /** Delays the end of the process until this claim has ended. */
  track: <T>(claim: Promise<T>) => Promise<T>
}

/** Executes the jobs of one kind. Takes batches as far as there is capacity; jobs without capacity wait and begin as soon as there is capacity. */
export function kindExecutor({ pool, handler, projects, execute, stopping, batchMs, log, onClaimed, track }: KindExecutorOptions) {
  const { kind } = handler
  const limits = capacity(handler, projects)
  const perWorker = handler.dispatched ?? handler.concurrency * TURNS_OF_A_WINDOW
  const waiting = waitingJobs(limits, drop)
  const marginMs = batchMs / MARGIN
  let dropped: ClaimedJob[] = []
  // Jobs may take longer than a lease, and a dropped job must be stored as never begun before its lease expires.
  const checks = setInterval(capacityChanged, marginMs / CHECKS).unref()
  stopping.addEventListener('abort', () => clearInterval(checks), { once: true })
  // Batches wait for capacity one after the other.
  let lastTurn: Promise<void> = Promise.resolve()
  let wakeTurn = () => {}
  let isAccepting = false

  function begin(candidate: Candidate): void {
    execute(handler, candidate, onEnd)
  }
  function onEnd(claimed: ClaimedJob): void {
    limits.remove(claimed)
    capacityChanged()
  }

  /** The job is dispatched again when its lease has expired. */
  function drop(claimed: ClaimedJob): void {
    if (dropped.push(claimed) === 1) setImmediate(noteDropped)
  }

  /** Repeats until the database answers. After an outage the sweeps leave expired leases alone for a moment; this record must come first. */
  function noteDropped(): void {
    const jobs = dropped
    dropped = []
    noteUnbegun(pool, kind, jobs).catch(error => {
      if (stopping.aborted) return
      log.warn({ err: error, kind }, 'jobs that were not begun could not be noted')
      if (dropped.length === 0) setTimeout(noteDropped, RETRY_MS).unref()
      dropped.unshift(...jobs)
    })
  }

  /** There may be capacity for the batch whose turn it is, and for jobs that wait because of their project or destination. */
  function capacityChanged(): void {
    wakeTurn()
    if (isAccepting || stopping.aborted) return
    isAccepting = true
    setImmediate(() => {
      isAccepting = false
      if (!stopping.aborted) acceptWaiting()
    })
  }

  function acceptWaiting(): void {
    for (const candidate of waiting.acceptWaiting(marginMs)) begin(candidate)
    const batch = waiting.unpark()
    if (batch) track(take(batch)).catch(error => log.warn({ err: error, kind }, 'claiming failed'))
  }

  /** Resolves when there is capacity, or when the process stops; in the order of the calls. */
  function capacityInTurn(): Promise<void> {
    lastTurn = lastTurn.then(async () => {
      while (limits.free() <= 0 && !stopping.aborted)
        await new Promise<void>(resolve => {
          wakeTurn = resolve
        })
    })
    return lastTurn
  }

  /** Takes the batch, executes the jobs that fit and lets the others wait. Jobs that are claimed while the process stops are released. */
  async function take({ number, count }: Batch): Promise<void> {
    const reserved = Math.max(0, Math.min(count, limits.free()))
    limits.reserve(reserved)
    const claimedAt = performance.now()
    let candidates: Candidate[] = []
    try {
      const { claimed, leftMs } = await takeBatch(pool, kind, number, marginMs)
      await projects.learn(claimed.map(({ environment }) => environment))
      if (stopping.aborted) await releaseLeases(pool, claimed)
      else candidates = claimed.map(one => ({ claimed: one, until: claimedAt + leftMs }))
    } finally {
      limits.unreserve(reserved)
      for (const candidate of waiting.accept(candidates)) begin(candidate)
      capacityChanged()
    }
    onClaimed(candidates.length)
  }

  /** A batch with no job that fits is left in the table and parked: its kind may have a backlog that fits elsewhere. */
  async function takeOrPark(batch: Batch): Promise<void> {
    await capacityInTurn()
    if (!limits.certainlyFits(batch.count) && !stopping.aborted) {
      const until = performance.now() + batchMs
      const groups = await groupsOfBatch(pool, kind, batch.number, marginMs)
      if (groups.length === 0) return
      await projects.learn(groups.map(({ environment }) => environment))
      if (!waiting.fitsAny(groups) && !stopping.aborted) return waiting.park({ batch, groups, until })
    }
    await take(batch)
  }

  return {
    dispatchLimits: {
      batchSize: Math.min(BATCH_SIZE, handler.concurrency * TURNS_OF_A_BATCH, Math.ceil(perWorker / BATCHES_OF_A_WINDOW)),
      perWorker,
    },
    offer: limits.offer,
    withdraw: limits.withdraw,
    forInsert: limits.forInsert,
    capacityChanged,
    /** Resolves when the batch was taken, by this process or another one, or is parked. */
    takeBatch: (batch: Batch): Promise<void> => track(takeOrPark(batch)),
    /** Executes a job that was claimed with an offer of this capacity. */
    execute(candidate: Candidate): void {
      limits.add(candidate.claimed)
      begin(candidate)
    },
    /** Executes jobs of which some may not fit any more. */
    executeOrWait(candidates: readonly Candidate[]): void {
      for (const candidate of waiting.accept(candidates)) begin(candidate)
    },
    /** While the process stops: lets no batch wait any longer. */
    wake: (): void => wakeTurn(),
    /** While the process stops: releases what waits. A parked batch is taken for that, and its jobs are released. */
    async releaseWaiting(): Promise<void> {
      const { claimed, batches } = waiting.clear()
      await releaseLeases(pool, claimed)
      for (const batch of batches) await take(batch)
    },
  }
}

export type KindExecutor = ReturnType<typeof kindExecutor>

import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { jobFloors } from '../domain/durable/jobs/floors.ts'
import { BACKLOG, type Batch, dispatchDue, nextDue, type SweepOffer, type SweepResult } from '../domain/durable/jobs/sweep.ts'
import type { Pool } from '../store/connect.ts'
import type { Queue } from './queue.ts'

export type SweepOptions = {
  pool: Pool
  queue: Queue
  /** The kinds that this process executes: jobs of other kinds are left to the workers that know them. */
  kinds: readonly string[]
  /** Takes a batch without the queue, when the driver is down. */
  takeBatch: (kind: string, batch: Batch) => Promise<void>
  /** Calls back with the capacity that this process can spare, and executes what the sweep claimed with it. */
  claimBySweep: (sweep: (offer: SweepOffer) => Promise<SweepResult | null>) => Promise<SweepResult | null>
  log: Logger
}

/** The most jobs in outstanding batches, of each kind and priority. */
export const DISPATCH_WINDOW = 6_000
/** Jobs that fall due by time alone, jobs of lost batches and lost notifications are found this often. */
const PERIOD_MS = 1_000
/** A sweep pauses for twice as long as it took, however often it is woken: so its cost is a fixed part of the load. */
const REST = 2
/** The minimum pause while there is a backlog: few large sweeps cost less than many small ones, and the window lasts much longer than that. */
const BACKLOG_REST_MS = 30
/** A suspended job may be due before the next sweep. One wake-up serves all jobs that are suspended shortly after the first one. */
const SOON_MS = 25
/** The pause after a sweep of another process was under way. */
const BUSY_REST_MS = 10
/** After an outage, how often within a lease its executors try to renew it before any sweep of this process claims its job. */
const RENEWALS_AFTER_OUTAGE = 10

/** Dispatches whatever is due: at once when a commit announces a job, and every second anyway. */
export function startSweep({ pool, queue, kinds, takeBatch, claimBySweep, log }: SweepOptions) {
  const floors = jobFloors(pool)
  let stopped = false
  let again = false
  let hasBacklog = false
  let isAway = false
  const unannounced = new Set<string>()
  let keepsExpiredUntil = 0
  // A sweep reads the whole window, whatever it finds: it waits until a good part of what was dispatched is claimed.
  let claimed = 0
  let enough = 0
  let rested: Promise<unknown> = Promise.resolve()
  let current: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined

  /** False: a sweep of another process was under way. */
  async function sweepOnce(): Promise<boolean> {
    const began = performance.now()
    const swept = await claimBySweep(async offer => {
      const keepsExpired = isAway || performance.now() < keepsExpiredUntil
      const answer = await dispatchDue(pool, kinds, DISPATCH_WINDOW, { ...offer, keepsExpired }, floors.current())
      if (isAway) keepsExpiredUntil = performance.now() + offer.leaseMs / RENEWALS_AFTER_OUTAGE
      isAway = false
      return answer
    })
    const dispatched = swept ? swept.batches.reduce((sum, { count }) => sum + count, 0) : 0
    if (swept) hasBacklog = dispatched + swept.claimed.length >= BACKLOG
    const restMs = Math.max((performance.now() - began) * REST, hasBacklog ? BACKLOG_REST_MS : 0)
    rested = pause(swept ? Math.min(restMs, PERIOD_MS) : BUSY_REST_MS)
    if (!swept) return false
    enough = dispatched / 4
    claimed = 0
    // At the same time: a queue that is slow for one kind must not hold up the others.
    await Promise.all([...Map.groupBy(swept.batches, ({ kind }) => kind)].map(([kind, batches]) => announce(kind, batches)))
    return true
  }

  async function announce(kind: string, batches: Batch[]): Promise<void> {
    try {
      await queue.announce(kind, batches)
      if (unannounced.delete(kind) && unannounced.size === 0) log.info('the queue works again')
    } catch (error) {
      // A sweep may announce ten kinds ten times a second, and the queue may fail for one of them alone.
      if (unannounced.size === 0) log.warn({ err: error, kind }, 'the queue is down: claiming without it')
      unannounced.add(kind)
      for (const batch of batches) void takeBatch(kind, batch).catch(second => log.warn({ err: second, kind }, 'claiming failed'))
    }
  }

  /** A job that falls due before the next regular sweep does not wait for that sweep. */
  async function setAlarm(): Promise<void> {
    const ms = await nextDue(pool, kinds, PERIOD_MS, floors.current())
    clearTimeout(alarm)
    if (ms !== null && !stopped) alarm = setTimeout(wake, Math.max(1, Math.ceil(ms)))
  }

  async function sweep(): Promise<void> {
    do {
      again = false
      await sweepOnce()
        .then(isDone => {
          if (!isDone) again = true
          else if (!hasBacklog) return setAlarm()
        })
        .catch(error => {
          isAway = true
          log.warn({ err: error }, 'sweep failed')
        })
      await floors.refresh().catch(error => log.warn({ err: error }, 'the floors of the jobs could not be read'))
      await rested
    } while (again && !stopped)
  }

  function wake(): void {
    if (stopped) return
    if (current) again = true
    else
      current = sweep().finally(() => {
        current = undefined
      })
  }

  const timer = setInterval(wake, PERIOD_MS)

  return {
    wake,
    wakeSoon(): void {
      soon ??= setTimeout(() => {
        soon = undefined
        wake()
      }, SOON_MS)
    },
    /**
     * Is called with the number of jobs of batches that this process has claimed. Once that is a good part of the dispatched jobs, the
     * window is worth filling.
     */
    onClaimed(count: number): void {
      claimed += count
      if (hasBacklog && claimed >= enough) wake()
    },
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      clearTimeout(alarm)
      clearTimeout(soon)
      await current
    },
  }
}

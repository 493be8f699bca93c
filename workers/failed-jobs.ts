import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { noteUnbegun } from '../domain/durable/jobs/lapse.ts'
import { type HeldLease, releaseLeases } from '../domain/durable/jobs/lease.ts'
import type { Pool } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'

const RETRY_MS = 500

export type FailedJobsOptions = { pool: Pool; leaseMs: number; log: Logger }

/**
 * Jobs whose execution ended by an error: no worker executes them, and their leases are alive. After an outage of the database they are
 * released as soon as the database answers: without a release they would wait until the leases expire. A job is released once within a
 * lease, so an error that only looks like an outage costs no more than that. All other jobs are left until their leases have expired.
 */
export function failedJobs({ pool, leaseMs, log }: FailedJobsOptions) {
  const waiting = new Set<HeldLease>()
  /** By the time from which the job may be released again. */
  const released = new Map<string, number>()
  let isReleasing = false

  async function releaseAll(): Promise<void> {
    while (waiting.size > 0) {
      await pause(RETRY_MS, undefined, { ref: false })
      const now = performance.now()
      for (const [key, until] of released) if (until <= now) released.delete(key)
      const jobs = [...waiting]
      // Fails as long as the database is down. The jobs are noted even after the leases have expired: otherwise a sweep would count them as
      // begun.
      const isDone = await releaseLeases(pool, jobs).then(
        () => true,
        () => false,
      )
      if (isDone) for (const job of jobs) waiting.delete(job)
    }
    isReleasing = false
  }

  return (held: HeldLease, error: unknown): void => {
    const key = `${held.kind}:${held.id}`
    const now = performance.now()
    if (classifyFailure(error) !== 'unavailable' || now < (released.get(key) ?? 0)) {
      // A job that fails before its effect may fail every time, and must not count as an attempt each time.
      if (held.unrecordedMs === null)
        noteUnbegun(pool, held.kind, [held]).catch(second =>
          log.warn({ err: second, kind: held.kind }, 'a job that was not begun could not be noted'),
        )
      return
    }
    released.set(key, now + leaseMs)
    waiting.add(held)
    if (isReleasing) return
    isReleasing = true
    void releaseAll()
  }
}

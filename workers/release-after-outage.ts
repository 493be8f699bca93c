import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimedJob } from '../domain/jobs/job.ts'
import { releaseLeases } from '../domain/jobs/lease.ts'
import type { Pool } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'

const RETRY_MS = 500

/**
 * Jobs whose execution ended because the database was away. Nobody executes them and their leases are alive: without a release they would wait
 * until the leases expire. A job is released once within a lease, so an error that only looks like an outage costs no more than that.
 */
export function releaseAfterOutage(pool: Pool, leaseMs: number) {
  /** By the time at which the lease has expired by itself. */
  const waiting = new Map<ClaimedJob, number>()
  const released = new Map<string, number>()
  let isReleasing = false

  function forget(now: number): void {
    for (const [claimed, until] of waiting) if (until <= now) waiting.delete(claimed)
    for (const [key, until] of released) if (until <= now) released.delete(key)
  }

  async function releaseAll(): Promise<void> {
    while (waiting.size > 0) {
      await pause(RETRY_MS, undefined, { ref: false })
      forget(performance.now())
      const jobs = [...waiting.keys()]
      // Fails as long as the database is away.
      const isDone = await releaseLeases(pool, jobs).then(
        () => true,
        () => false,
      )
      if (isDone) for (const job of jobs) waiting.delete(job)
    }
    isReleasing = false
  }

  /** Releases the job as soon as the database answers, if it was away when the error arose. */
  return (claimed: ClaimedJob, error: unknown): void => {
    const key = `${claimed.kind}:${claimed.id}`
    const now = performance.now()
    if (classifyFailure(error) !== 'unavailable' || now < (released.get(key) ?? 0)) return
    released.set(key, now + leaseMs)
    waiting.set(claimed, now + leaseMs)
    if (isReleasing) return
    isReleasing = true
    void releaseAll()
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimedJob } from '../domain/jobs/job.ts'
import { renewLeases } from '../domain/jobs/lease.ts'
import type { Pool } from '../store/connect.ts'

/** Tries of one heartbeat. */
const BEATS = 3

/** So often within a lease it is looked at whether it is still held, or to be prolonged. */
const LOOKS = 30
/** What has less than this part of a lease left when it begins is prolonged at once. */
const SHORT = 5

type Lease = { claimed: ClaimedJob; lost: AbortController; until: number; beatAt: number }
/** `signal` aborts when the lease is lost; `isHeld` asks the clock, which may know it sooner. `end`: it is needed no longer. */
export type Held = { signal: AbortSignal; isHeld(): boolean; end(): void }

/** The leases of what this process has claimed: prolonged every third of their time, and given up when that did not come off in time. */
export function leases(pool: Pool, leaseMs: number) {
  const held = new Map<string, Lease>()
  let isBeatingSoon = false
  const lose = (lease: Lease) => lease.lost.abort(new Error('the lease was lost'))

  async function beat(some: [string, Lease][]): Promise<[string, Lease][]> {
    const sentAt = performance.now()
    const kept = await renewLeases(
      pool,
      some.map(([, { claimed }]) => claimed),
      leaseMs,
    ).catch(() => null)
    if (!kept) return []
    for (const [key, lease] of some) {
      // An answer that was overtaken by that of a later heartbeat takes nothing back.
      if (kept.renewed.has(key)) lease.until = Math.max(lease.until, sentAt + leaseMs)
      else if (!kept.busy.has(key) && held.get(key) === lease) lose(lease)
    }
    return some.filter(([key]) => kept.busy.has(key))
  }

  /** What is being recorded at that very moment is asked for again a little later: only what is locked for long goes without. */
  async function heartbeat(): Promise<void> {
    // What is lost is not held fast, though it may not have come to its end: nobody else could take it up then.
    const isOurs = ([key, lease]: [string, Lease]) => held.get(key) === lease && !lease.lost.signal.aborted
    const now = performance.now()
    let rest = [...held.entries()].filter(([, { beatAt }]) => beatAt <= now).filter(isOurs)
    for (const [, lease] of rest) lease.beatAt = now + leaseMs / 3
    for (let n = 0; n < BEATS && rest.length > 0; n++) {
      if (n > 0) await pause(leaseMs / 30, undefined, { ref: false })
      rest = (await beat(rest)).filter(isOurs)
    }
  }

  function prolongSoon(lease: Lease): void {
    lease.beatAt = 0
    if (isBeatingSoon) return
    isBeatingSoon = true
    setImmediate(() => {
      isBeatingSoon = false
      void heartbeat()
    })
  }

  // On our own monotonic clock: a lease that could not be prolonged in time is somebody else's, whether or not we heard of it.
  const watch = setInterval(() => {
    for (const lease of held.values()) if (performance.now() >= lease.until) lose(lease)
    void heartbeat()
  }, leaseMs / LOOKS)

  return {
    /** `until`: by `performance.now()`, no later than the database's. */
    begin(claimed: ClaimedJob, until: number): Held {
      const key = `${claimed.kind}:${claimed.id}`
      const begunAt = performance.now()
      const lease: Lease = { claimed, lost: new AbortController(), until, beatAt: begunAt + (until - begunAt) / 3 }
      const former = held.get(key)
      if (former) lose(former)
      held.set(key, lease)
      if (until - begunAt < leaseMs / SHORT) prolongSoon(lease)
      return {
        signal: lease.lost.signal,
        isHeld: () => performance.now() < lease.until,
        end() {
          // This process may have claimed it anew after it lost it: that lease lives on.
          if (held.get(key) === lease) held.delete(key)
        },
      }
    },
    stop: () => clearInterval(watch),
  }
}

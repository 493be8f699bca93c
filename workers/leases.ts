import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import { endLeases, renewLeases } from '../domain/durable/jobs/lease.ts'
import type { Pool } from '../store/connect.ts'
import type { EffectMarks } from '../workflows/engine/handler.ts'

/** Tries of one heartbeat. */
const TRIES = 3
/** How often, within a lease, the leases are checked: a lease may be lost, or due for renewal. */
const CHECKS = 30
/** A lease that has less than a fifth of its time left when its job begins is renewed at once. */
const SHORT = 5

type Lease = {
  claimed: ClaimedJob
  lost: AbortController
  until: number
  renewAt: number
  /** The effect has ended and only its record is left. */
  isRecording: boolean
  /** The database has reported that the lease is gone. */
  isGone: boolean
}
/**
 * `signal` aborts when the lease is lost. `isHeld` reads the clock, which may know of the loss sooner. `keep`: the lease is renewed from now
 * on even if it has run out, because no other worker may have claimed the job. `end`: the lease is needed no longer.
 */
export type Held = EffectMarks & {
  signal: AbortSignal
  isHeld(): boolean
  keep(): void
  wasKept(): boolean
  /** How many milliseconds ago an effect began that is not recorded yet; null: there is none. */
  unrecordedMs(): number | null
  end(): void
}

/** The leases of the claimed jobs of this process: renewed every third of their time, and given up when they were not renewed in time. */
export function leases(pool: Pool, leaseMs: number) {
  const held = new Map<string, Lease>()
  let isRenewingSoon = false
  const lose = (lease: Lease) => lease.lost.abort(new Error('the lease was lost'))

  /** Given up by the clock, and renewed by a heartbeat that was under way: after that time nobody executes the job. */
  const isRenewedLate = (key: string, lease: Lease) =>
    held.get(key) !== lease && lease.lost.signal.aborted && !lease.isRecording && performance.now() < lease.until
  const endRenewedLate = (some: Lease[]) => {
    // Without an answer the leases run out by themselves, later.
    if (some.length > 0)
      void endLeases(
        pool,
        some.map(({ claimed }) => claimed),
      ).catch(() => {})
  }

  /** Returns the leases whose rows are locked just now. */
  async function renew(some: [string, Lease][]): Promise<[string, Lease][]> {
    const sentAt = performance.now()
    const result = await renewLeases(
      pool,
      some.map(([, { claimed }]) => claimed),
      leaseMs,
    ).catch(() => null)
    if (!result) {
      // The database is down: the next check tries again, so that the leases are renewed first when the database is back.
      for (const [, lease] of some) lease.renewAt = Math.min(lease.renewAt, performance.now() + leaseMs / CHECKS)
      return []
    }
    for (const [key, lease] of some) {
      // The result of a later heartbeat may have arrived first: a lease never becomes shorter.
      if (result.renewed.has(key)) lease.until = Math.max(lease.until, sentAt + leaseMs)
      else if (!result.busy.has(key) && held.get(key) === lease) {
        lease.isGone = true
        lose(lease)
      }
    }
    endRenewedLate(some.filter(([key, lease]) => result.renewed.has(key) && isRenewedLate(key, lease)).map(([, lease]) => lease))
    return some.filter(([key]) => result.busy.has(key))
  }

  /**
   * A job that is being recorded at this moment has its row locked: the renewal is tried again a little later. Only a lock that lasts long
   * leaves the lease without renewal.
   */
  async function heartbeat(): Promise<void> {
    // A lost lease is not renewed, though its job may not have ended: no other worker could claim the job then. Where only the record is left,
    // it is renewed as long as no other worker has claimed the job: the other worker would repeat the effect.
    const isOurs = ([key, lease]: [string, Lease]) =>
      held.get(key) === lease && !lease.isGone && (lease.isRecording || !lease.lost.signal.aborted)
    const now = performance.now()
    let rest = [...held.entries()].filter(([, { renewAt }]) => renewAt <= now).filter(isOurs)
    for (const [, lease] of rest) lease.renewAt = now + leaseMs / 3
    for (let n = 0; n < TRIES && rest.length > 0; n++) {
      if (n > 0) await pause(leaseMs / 30, undefined, { ref: false })
      rest = (await renew(rest)).filter(isOurs)
    }
  }

  function renewSoon(lease: Lease): void {
    lease.renewAt = 0
    if (isRenewingSoon) return
    isRenewingSoon = true
    setImmediate(() => {
      isRenewingSoon = false
      void heartbeat()
    })
  }

  // On the monotonic clock of this process: a lease that was not renewed in time belongs to another worker, whether or not a message says so.
  const watch = setInterval(() => {
    for (const lease of held.values()) if (performance.now() >= lease.until) lose(lease)
    void heartbeat()
  }, leaseMs / CHECKS)

  return {
    /** `until`: by `performance.now()`, no later than the end of the lease in the database. */
    begin(claimed: ClaimedJob, until: number): Held {
      const key = `${claimed.kind}:${claimed.id}`
      const begunAt = performance.now()
      const lease: Lease = {
        claimed,
        lost: new AbortController(),
        until,
        renewAt: begunAt + (until - begunAt) / 3,
        isRecording: false,
        isGone: false,
      }
      const former = held.get(key)
      if (former) lose(former)
      held.set(key, lease)
      if (until - begunAt < leaseMs / SHORT) renewSoon(lease)
      let effectAt: number | null = null
      return {
        signal: lease.lost.signal,
        isHeld: () => performance.now() < lease.until,
        keep() {
          lease.isRecording = true
        },
        wasKept: () => lease.isRecording,
        effectBegins() {
          effectAt = performance.now()
        },
        effectRecorded() {
          effectAt = null
        },
        unrecordedMs: () => effectAt && performance.now() - effectAt,
        end() {
          // This process may have lost the job and claimed it again: the new lease stays.
          if (held.get(key) === lease) held.delete(key)
          if (isRenewedLate(key, lease)) endRenewedLate([lease])
        },
      }
    },
    stop: () => clearInterval(watch),
  }
}

export type Leases = ReturnType<typeof leases>

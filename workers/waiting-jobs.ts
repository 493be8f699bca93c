import type { ClaimedJob } from '../domain/durable/jobs/job.ts'
import type { Batch } from '../domain/durable/jobs/sweep.ts'
import type { JobGroup } from '../domain/durable/jobs/take-batch.ts'
import type { Capacity } from './capacity.ts'
import { DISPATCH_WINDOW } from './sweep.ts'

/** A claimed job that is to be executed. `until`: the end of its lease, by `performance.now()`. */
export type Candidate = { claimed: ClaimedJob; until: number }
/** A batch that is not taken yet, because no job of it fits. `until`: the end of its lease, by `performance.now()`. */
export type ParkedBatch = { batch: Batch; groups: JobGroup[]; until: number }

/** The most jobs that wait: as many as may be dispatched. A job beyond them is dispatched again when its lease has expired. */
const MOST_WAITING = 4 * DISPATCH_WINDOW

const groupKey = ({ environment, destination }: JobGroup) => `${environment}:${destination}`

/**
 * Jobs of one kind that wait for capacity: claimed jobs, and batches that were not taken. `drop` gets each job that is forgotten though it is
 * claimed.
 */
export function waitingJobs(capacity: Capacity, drop: (claimed: ClaimedJob) => void) {
  // By group, and each group in the order in which its jobs came: of the jobs of a group all fit or none does.
  const groups = new Map<string, Map<number, Candidate>>()
  let count = 0
  const parked = new Map<number, ParkedBatch>()

  function wait(candidate: Candidate): void {
    const { claimed } = candidate
    const key = groupKey(claimed)
    const group = groups.get(key) ?? new Map<number, Candidate>()
    // The job may wait already, from an earlier batch.
    if (!group.has(claimed.id)) {
      if (count >= MOST_WAITING) {
        drop(claimed)
        return
      }
      count++
    }
    groups.set(key, group.set(claimed.id, candidate))
  }

  function forget({ claimed }: Candidate): void {
    const key = groupKey(claimed)
    const group = groups.get(key)
    if (group?.delete(claimed.id)) count--
    if (group?.size === 0) groups.delete(key)
  }

  /** Whether a job of these groups fits, and no job of its group waits already. */
  const fitsAny = (some: readonly JobGroup[]) => some.some(group => capacity.fits(group) && !groups.has(groupKey(group)))

  return {
    fitsAny,
    /** Adds the candidates that fit to the capacity and returns them. The others wait. */
    accept(candidates: Iterable<Candidate>): Candidate[] {
      const accepted: Candidate[] = []
      for (const candidate of candidates) {
        if (capacity.tryAdd(candidate.claimed)) accepted.push(candidate)
        else wait(candidate)
      }
      return accepted
    },
    /**
     * The same for the waiting jobs: one job of each group after the other. A job whose lease lasts for `marginMs` or less is forgotten: it
     * is dispatched again.
     */
    acceptWaiting(marginMs: number): Candidate[] {
      const soonest = performance.now() + marginMs
      const accepted: Candidate[] = []
      const acceptNext = (group: Map<number, Candidate>): boolean => {
        for (const candidate of group.values()) {
          if (candidate.until > soonest) {
            if (!capacity.tryAdd(candidate.claimed)) return false
            forget(candidate)
            accepted.push(candidate)
            return true
          }
          forget(candidate)
          drop(candidate.claimed)
        }
        return false
      }
      for (let rest = [...groups.values()]; rest.length > 0; ) rest = rest.filter(acceptNext)
      return accepted
    },
    park(one: ParkedBatch): void {
      const now = performance.now()
      for (const { batch, until } of parked.values()) if (until <= now) parked.delete(batch.number)
      parked.set(one.batch.number, one)
    },
    /** A parked batch that has a job that fits now; it is parked no longer. One at a time: each batch changes what fits. */
    unpark(): Batch | null {
      const now = performance.now()
      for (const { batch, groups: some, until } of parked.values()) {
        const isExpired = until <= now
        if (!isExpired && !fitsAny(some)) continue
        parked.delete(batch.number)
        if (!isExpired) return batch
      }
      return null
    },
    /** Forgets everything that waits and returns it. */
    clear(): { claimed: ClaimedJob[]; batches: Batch[] } {
      const claimed = [...groups.values()].flatMap(group => [...group.values()].map(candidate => candidate.claimed))
      const batches = [...parked.values()].map(({ batch }) => batch)
      groups.clear()
      count = 0
      parked.clear()
      return { claimed, batches }
    },
  }
}

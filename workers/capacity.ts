import type { ClaimedJob } from '../domain/jobs/job.ts'
import { BACKLOG, type Batch, type SpareCapacity } from '../domain/jobs/sweep.ts'
import type { JobHandler } from '../workflows/engine/handler.ts'
import { WINDOW } from './sweep.ts'

/** What may take a slot, and until when it is held for us, by `performance.now()`. */
export type Candidate = { claimed: ClaimedJob; until: number }
/** What counts: whose it is, and for which destination. */
type Of = Pick<ClaimedJob, 'environment' | 'destination'>
/** A ring that is left untaken while there is no room for anything in it. `until`: by `performance.now()`. */
export type Parked = { ring: Batch; groups: Of[]; until: number }

/** Candidates without room that are kept in mind: all that may be rung. More than these are rung again after a while anyway. */
const MOST_WAITING = 4 * WINDOW

/** Of so many free slots one is given to a sweep, and of what one environment or destination may have no more than a quarter. */
const SPARE = 50
const QUARTER = 4
/** What a process may claim of what it makes at once: more than that is for all to share. */
const HANDFUL = BACKLOG - 1

/** How many promises of one kind a process holds, in all, of one environment and for one destination. */
export function capacity({ concurrency, perEnvironment = concurrency, perDestination = concurrency }: JobHandler) {
  let used = 0
  // Claims under way: whatever they bring must find room.
  let reserved = 0
  // Those of them that may be anybody's who is not full.
  let offered = 0
  const environments = new Map<number, number>()
  const destinations = new Map<number, number>()
  // By environment and destination, each in the order in which they came: of those that share them all fit or none does.
  const waiting = new Map<string, Map<number, Candidate>>()
  let waitingCount = 0
  const parked = new Map<number, Parked>()
  const add = (map: Map<number, number>, key: number | null, by: 1 | -1) => {
    if (key === null) return
    const count = (map.get(key) ?? 0) + by
    if (count > 0) map.set(key, count)
    else map.delete(key)
  }
  const count = (by: 1 | -1, { environment, destination }: Of) => {
    used += by
    add(environments, environment, by)
    add(destinations, destination, by)
  }
  const tightest = Math.min(perEnvironment, perDestination)
  const free = () => concurrency - used - reserved
  const fits = ({ environment, destination }: Of) =>
    (environments.get(environment) ?? 0) + offered < perEnvironment &&
    (destination === null || (destinations.get(destination) ?? 0) + offered < perDestination)
  /** How many may be given away, and who has no room for that many. */
  function spare() {
    const most = Math.min(Math.floor(free() / SPARE), Math.ceil(tightest / QUARTER))
    const full = (held: Map<number, number>, limit: number) => [...held].filter(([, n]) => n + offered + most > limit).map(([key]) => key)
    return { most, fullEnvironments: full(environments, perEnvironment), fullDestinations: full(destinations, perDestination) }
  }
  /** Whether it has found its place; it is counted from now on. */
  function enter(claimed: Of): boolean {
    const isIn = free() > 0 && fits(claimed)
    if (isIn) count(1, claimed)
    return isIn
  }
  const groupOf = ({ environment, destination }: Of) => `${environment}:${destination}`

  function keepInMind(candidate: Candidate): void {
    const { claimed } = candidate
    const key = groupOf(claimed)
    const group = waiting.get(key) ?? new Map<number, Candidate>()
    if (!group.has(claimed.id)) {
      if (waitingCount >= MOST_WAITING) return
      waitingCount++
    }
    // It may be there already, from an earlier ring.
    waiting.set(key, group.set(claimed.id, candidate))
  }

  const hasRoomFor = (groups: readonly Of[]) => free() > 0 && groups.some(of => fits(of) && !waiting.has(groupOf(of)))

  function forget({ claimed }: Candidate): void {
    const key = groupOf(claimed)
    const group = waiting.get(key)
    if (group?.delete(claimed.id)) waitingCount--
    if (group?.size === 0) waiting.delete(key)
  }

  return {
    free,
    reserve(count: number): void {
      reserved += count
    },
    unreserve(count: number): void {
      reserved -= count
    },
    /** Whoever they belong to, `count` more fit: nobody needs to look. */
    surelyFits: (count: number) => count <= tightest - used - reserved,
    /** For something of one of these, and nothing of it waits already. */
    hasRoomFor,
    park(one: Parked): void {
      const now = performance.now()
      for (const { ring, until } of parked.values()) if (until <= now) parked.delete(ring.number)
      parked.set(one.ring.number, one)
    },
    /** A parked ring that has room now, and is parked no longer. One at a time: each changes what is left. */
    unpark(): Parked | null {
      const now = performance.now()
      for (const one of parked.values()) {
        const isOver = one.until <= now
        if (!isOver && !hasRoomFor(one.groups)) continue
        parked.delete(one.ring.number)
        if (!isOver) return one
      }
      return null
    },
    occupy: (claimed: Of) => count(1, claimed),
    vacate: (claimed: Of) => count(-1, claimed),
    /** Room for a few of everybody who has that much left; kept until it is withdrawn. Null: there is not enough to give any away. */
    offer(): SpareCapacity | null {
      const room = spare()
      if (room.most <= 0) return null
      reserved += room.most
      offered += room.most
      return room
    },
    /** Room for a few of this environment, by the look of it; not kept. Null: there is not enough to give any away. */
    roomOf(environment: number): Pick<SpareCapacity, 'most' | 'fullDestinations'> | null {
      const { most, fullEnvironments, fullDestinations } = spare()
      return most <= 0 || fullEnvironments.includes(environment) ? null : { most: Math.min(most, HANDFUL), fullDestinations }
    },
    enter,
    withdraw({ most }: SpareCapacity): void {
      reserved -= most
      offered -= most
    },
    /** Those that fit beside what is held: they are counted from now on. The others are kept in mind until somebody leaves. */
    admit(candidates: Iterable<Candidate>): Candidate[] {
      const admitted: Candidate[] = []
      for (const candidate of candidates) {
        if (enter(candidate.claimed)) admitted.push(candidate)
        else keepInMind(candidate)
      }
      return admitted
    },
    /** All that are kept in mind, for the last time. */
    forgetAll(): { claimed: ClaimedJob[]; rings: Batch[] } {
      const claimed = [...waiting.values()].flatMap(group => [...group.values()].map(one => one.claimed))
      const rings = [...parked.values()].map(({ ring }) => ring)
      waiting.clear()
      waitingCount = 0
      parked.clear()
      return { claimed, rings }
    },
    /**
     * Those kept in mind that fit now: counted from now on. One of each environment and destination after the other. What is held for us for
     * no more than `leftMs` is left to be rung again, and forgotten here.
     */
    admitWaiting(leftMs: number): Candidate[] {
      const soonest = performance.now() + leftMs
      const admitted: Candidate[] = []
      const next = (group: Map<number, Candidate>): boolean => {
        for (const candidate of group.values()) {
          if (candidate.until > soonest) {
            if (!enter(candidate.claimed)) return false
            forget(candidate)
            admitted.push(candidate)
            return true
          }
          forget(candidate)
        }
        return false
      }
      for (let groups = [...waiting.values()]; groups.length > 0; ) groups = groups.filter(next)
      return admitted
    },
  }
}

export type Capacity = ReturnType<typeof capacity>

import type { Candidate } from '../domain/runs/claim.ts'
import type { Room } from '../domain/runs/ring.ts'
import type { Performer } from '../workflows/engine/performer.ts'
import { WINDOW } from './sweep.ts'

/** Candidates without room that are kept in mind: all that may be rung. More than these are rung again after a while anyway. */
const MOST_WAITING = 4 * WINDOW

/** Of so many free slots one is given to a sweep, and of what one environment or destination may have no more than a quarter. */
const SPARE = 50
const QUARTER = 4

/** How many promises of one kind a process holds, in all, of one environment and for one destination. */
export function slots({ concurrency, perEnvironment = concurrency, perDestination = concurrency }: Performer) {
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
  const add = (map: Map<number, number>, key: number | null, by: 1 | -1) => {
    if (key === null) return
    const count = (map.get(key) ?? 0) + by
    if (count > 0) map.set(key, count)
    else map.delete(key)
  }
  const count = (by: 1 | -1, { environment, destination }: Omit<Candidate, 'id'>) => {
    used += by
    add(environments, environment, by)
    add(destinations, destination, by)
  }
  const tightest = Math.min(perEnvironment, perDestination)
  const free = () => concurrency - used - reserved
  const fits = ({ environment, destination }: Candidate) =>
    (environments.get(environment) ?? 0) + offered < perEnvironment &&
    (destination === null || (destinations.get(destination) ?? 0) + offered < perDestination)
  const groupOf = ({ environment, destination }: Candidate) => `${environment}:${destination}`

  function keepInMind(candidate: Candidate): void {
    const key = groupOf(candidate)
    const group = waiting.get(key) ?? new Map<number, Candidate>()
    if (waitingCount >= MOST_WAITING || group.has(candidate.id)) return
    waiting.set(key, group.set(candidate.id, candidate))
    waitingCount++
  }

  function admitOne(candidate: Candidate): Candidate {
    count(1, candidate)
    const key = groupOf(candidate)
    const group = waiting.get(key)
    if (group?.delete(candidate.id)) waitingCount--
    if (group?.size === 0) waiting.delete(key)
    return candidate
  }

  return {
    free,
    reserve(count: number): void {
      reserved += count
    },
    unreserve(count: number): void {
      reserved -= count
    },
    occupy: (candidate: Omit<Candidate, 'id'>) => count(1, candidate),
    vacate: (candidate: Omit<Candidate, 'id'>) => count(-1, candidate),
    /** Whoever they belong to, `count` more fit: nobody needs to look. */
    surelyFits: (count: number) => count <= tightest - used - reserved,
    /** Room for a few of everybody who has that much left; kept until it is withdrawn. Null: there is not enough to give any away. */
    offer(): Room | null {
      const most = Math.min(Math.floor(free() / SPARE), Math.ceil(tightest / QUARTER))
      if (most <= 0) return null
      reserved += most
      offered += most
      const full = (held: Map<number, number>, limit: number) => [...held].filter(([, n]) => n + offered > limit).map(([key]) => key)
      return { most, fullEnvironments: full(environments, perEnvironment), fullDestinations: full(destinations, perDestination) }
    },
    withdraw({ most }: Room): void {
      reserved -= most
      offered -= most
    },
    /** Those that fit beside what is held: they are counted from now on. The others are kept in mind until somebody leaves. */
    admit(candidates: Iterable<Candidate>): Candidate[] {
      const admitted: Candidate[] = []
      for (const candidate of candidates) {
        if (fits(candidate)) admitted.push(admitOne(candidate))
        else keepInMind(candidate)
      }
      return admitted
    },
    /** Those kept in mind that fit now: counted from now on. One of each environment and destination after the other. */
    admitWaiting(): Candidate[] {
      const admitted: Candidate[] = []
      const next = (group: Map<number, Candidate>): boolean => {
        const [first] = group.values()
        if (free() <= 0 || !first || !fits(first)) return false
        admitted.push(admitOne(first))
        return true
      }
      for (let groups = [...waiting.values()]; groups.length > 0; ) groups = groups.filter(next)
      return admitted
    },
  }
}

export type Slots = ReturnType<typeof slots>

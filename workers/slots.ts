import type { Candidate } from '../domain/runs/claim.ts'
import type { Performer } from '../workflows/engine/performer.ts'
import { WINDOW } from './sweep.ts'

/** Candidates without room that are kept in mind: all that may be rung. More than these are rung again after a while anyway. */
const MOST_WAITING = 4 * WINDOW

/** How many promises of one kind a process holds, in all, of one environment and for one destination. */
export function slots({ concurrency, perEnvironment = concurrency, perDestination = concurrency }: Performer) {
  let used = 0
  // Claims under way: whatever they bring must find room.
  let reserved = 0
  const environments = new Map<number, number>()
  const destinations = new Map<number, number>()
  const waiting = new Map<number, Candidate>()
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

  return {
    free: () => concurrency - used - reserved,
    reserve(count: number): void {
      reserved += count
    },
    unreserve(count: number): void {
      reserved -= count
    },
    occupy: (candidate: Omit<Candidate, 'id'>) => count(1, candidate),
    vacate: (candidate: Omit<Candidate, 'id'>) => count(-1, candidate),
    /** Whoever they belong to, `count` more fit: nobody needs to look. */
    surelyFits: (count: number) => used + reserved + count <= tightest,
    /** Those that fit beside what is held: they are counted from now on. The others are kept in mind until somebody leaves. */
    admit(candidates: Iterable<Candidate>): Candidate[] {
      const admitted: Candidate[] = []
      for (const candidate of candidates) {
        const { id, environment, destination } = candidate
        const fits =
          (environments.get(environment) ?? 0) < perEnvironment &&
          (destination === null || (destinations.get(destination) ?? 0) < perDestination)
        if (fits) {
          count(1, candidate)
          waiting.delete(id)
          admitted.push(candidate)
        } else if (waiting.size < MOST_WAITING) waiting.set(id, candidate)
      }
      return admitted
    },
    /** Those kept in mind that fit now: counted from now on. */
    admitWaiting(): Candidate[] {
      const admitted: Candidate[] = []
      for (const candidate of [...waiting.values()]) {
        if (concurrency - used - reserved <= 0) break
        admitted.push(...this.admit([candidate]))
      }
      return admitted
    },
  }
}

export type Slots = ReturnType<typeof slots>

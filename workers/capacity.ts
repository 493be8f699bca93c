import type { InsertCapacity } from '../domain/durable/jobs/claim-on-insert.ts'
import type { SpareCapacity } from '../domain/durable/jobs/sweep.ts'
import type { JobGroup } from '../domain/durable/jobs/take-batch.ts'
import type { JobHandler } from '../workflows/engine/handler.ts'
import type { KnownProjects } from './known-projects.ts'

/** A sweep is offered capacity for one job for each 50 that are free, and at most for a quarter of the smallest limit. */
const FREE_PER_OFFERED = 50
const QUARTER = 4
/** The most that one statement claims on insert: about what a consumer of the log reads at once. */
const MOST_ON_INSERT = 1_024

/**
 * Counts the jobs of one kind that a process holds: in all, of each project and for each destination, against the limits of the handler. A
 * project may hold a share of what the other projects leave: so each further project finds capacity, however long the jobs of the others take.
 */
export function capacity(
  { concurrency, share = 1, perDestination = concurrency }: JobHandler,
  projects: Pick<KnownProjects, 'projectOf' | 'environmentsOf'>,
) {
  let used = 0
  // Reserved for claims under way: their jobs must fit.
  let reserved = 0
  // The part of `reserved` that a sweep may use for any project and destination that is not full.
  let offered = 0
  const ofProjects = new Map<number, number>()
  const ofDestinations = new Map<number, number>()
  const smallestLimit = Math.min(Math.floor(concurrency * share), perDestination)

  function add(counts: Map<number, number>, key: number | null, by: 1 | -1): void {
    if (key === null) return
    const count = (counts.get(key) ?? 0) + by
    if (count > 0) counts.set(key, count)
    else counts.delete(key)
  }
  function count({ environment, destination }: JobGroup, by: 1 | -1): void {
    used += by
    add(ofProjects, projects.projectOf(environment), by)
    add(ofDestinations, destination, by)
  }

  const free = () => concurrency - used - reserved
  const heldBy = (project: number) => ofProjects.get(project) ?? 0
  const limitOf = (project: number) => Math.ceil(share * (concurrency - used + heldBy(project)))
  /** Whether `more` jobs of the project fit besides what is offered. */
  const hasShare = (project: number, more: number) => heldBy(project) + offered + more <= limitOf(project)
  /** Whether one more job of the group fits. */
  const fits = ({ environment, destination }: JobGroup) =>
    free() > 0 &&
    hasShare(projects.projectOf(environment), 1) &&
    (destination === null || (ofDestinations.get(destination) ?? 0) + offered < perDestination)

  /** How many jobs another statement may claim, and which environments and destinations have too little capacity for that many. */
  function spare(): SpareCapacity {
    const most = Math.min(Math.floor(free() / FREE_PER_OFFERED), Math.ceil(smallestLimit / QUARTER))
    const full = [...ofProjects.keys()].filter(project => !hasShare(project, most))
    return {
      most,
      fullEnvironments: full.flatMap(projects.environmentsOf),
      fullDestinations: [...ofDestinations].filter(([, n]) => n + offered + most > perDestination).map(([key]) => key),
    }
  }

  return {
    free,
    fits,
    /** Whether so many jobs fit, of whatever projects and destinations they are. */
    certainlyFits: (jobs: number) => jobs <= smallestLimit - used - reserved,
    reserve(jobs: number): void {
      reserved += jobs
    },
    unreserve(jobs: number): void {
      reserved -= jobs
    },
    add: (job: JobGroup) => count(job, 1),
    remove: (job: JobGroup) => count(job, -1),
    /** Adds the job if it fits. */
    tryAdd(job: JobGroup): boolean {
      const isAdded = fits(job)
      if (isAdded) count(job, 1)
      return isAdded
    },
    /** Capacity that a sweep may use, reserved until it is withdrawn. Null: there is too little to offer any. */
    offer(): SpareCapacity | null {
      const offer = spare()
      if (offer.most <= 0) return null
      reserved += offer.most
      offered += offer.most
      return offer
    },
    withdraw({ most }: SpareCapacity): void {
      reserved -= most
      offered -= most
    },
    /**
     * Capacity that an insert of these environments may use. It is not reserved: another claim may use it meanwhile, and jobs that do not
     * fit any more wait. Null: there is none.
     */
    forInsert(environments: readonly number[]): Omit<InsertCapacity, 'leaseMs'> | null {
      const left = (project: number) => limitOf(project) - heldBy(project) - offered
      const most = Math.min(Math.floor(free() / QUARTER), MOST_ON_INSERT, ...environments.map(one => left(projects.projectOf(one))))
      const roomFor = (held: number) => Math.max(0, perDestination - held - offered)
      return most <= 0 ? null : { most, rooms: new Map([...ofDestinations].map(([key, n]) => [key, roomFor(n)])), room: roomFor(0) }
    },
  }
}

export type Capacity = ReturnType<typeof capacity>

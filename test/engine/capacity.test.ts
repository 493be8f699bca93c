import { expect, test } from 'vitest'
import { capacity } from '../../workers/capacity.ts'
import type { KnownProjects } from '../../workers/known-projects.ts'
import { DISPATCH_WINDOW } from '../../workers/sweep.ts'
import { waitingJobs } from '../../workers/waiting-jobs.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'

const candidates = (environment: number, destination: number | null, count: number, until = Number.POSITIVE_INFINITY) =>
  Array.from({ length: count }, (_, id) => ({ claimed: { kind: 'job', id, fence: 1, environment, destination }, until }))

/** Projects 1 to 9: the environments of project 1 are 1 and 10, those of project 2 are 2 and 20. */
const projects: Pick<KnownProjects, 'projectOf' | 'environmentsOf'> = {
  projectOf: environment => (environment < 10 ? environment : environment / 10),
  environmentsOf: project => [project, project * 10],
}

/** The capacity of a handler with these limits, and the jobs that wait for it. */
function withLimits(limits: Pick<JobHandler, 'concurrency' | 'share' | 'perDestination'>) {
  const free = capacity({ kind: 'job', ...limits, handle: async () => ({ is: 'succeeded' }) }, projects)
  return { capacity: free, waiting: waitingJobs(free, () => {}) }
}

test('all jobs of one environment that may be dispatched wait while its project has no capacity, and each waits once', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, share: 1 / 10 })
  const dispatched = candidates(1, null, DISPATCH_WINDOW / 2)
  const begun: number[] = []
  const first = waiting.accept(dispatched)
  expect(waiting.accept(dispatched.slice(1))).toEqual([])
  for (let next = first; next.length > 0; next = waiting.acceptWaiting(0)) {
    expect(next).toHaveLength(1)
    begun.push(next[0]!.claimed.id)
    capacity.remove(next[0]!.claimed)
  }
  expect(begun).toEqual(dispatched.map(({ claimed }) => claimed.id))
})

test('the capacity that a sweep may use stays reserved meanwhile: no project and no destination exceeds its limit', () => {
  const { capacity, waiting } = withLimits({ concurrency: 400, share: 1 / 4, perDestination: 20 })
  expect(waiting.accept([...candidates(1, null, 100), ...candidates(2, 7, 16), ...candidates(3, 8, 15)])).toHaveLength(131)
  const offer = capacity.offer()
  expect(offer).toEqual({ most: 5, fullEnvironments: [1, 10], fullDestinations: [7] })
  expect(capacity.free()).toBe(400 - 131 - 5)
  expect(waiting.accept(candidates(3, 8, 5))).toEqual([])
  expect(waiting.accept(candidates(4, 9, 20))).toHaveLength(15)
  capacity.withdraw(offer!)
  for (const { claimed } of candidates(3, 8, 5)) capacity.add(claimed)
  expect(waiting.acceptWaiting(0)).toHaveLength(5)
  expect(capacity.free()).toBe(400 - 131 - 15 - 5 - 5)
})

test('a waiting job whose lease is too short when there is capacity is forgotten, and fits when it is dispatched again', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, share: 1 / 5 })
  const [first, second] = waiting.accept(candidates(1, null, 5, performance.now() + 900))
  expect(waiting.accept(candidates(2, null, 2))).toHaveLength(2)
  for (const { claimed } of [first!, second!]) capacity.remove(claimed)
  expect(waiting.acceptWaiting(1_000)).toEqual([])
  const again = candidates(1, null, 2)
  expect(waiting.accept(again)).toEqual(again)
  expect(capacity.free()).toBe(6)
})

test('a batch of which no job fits is parked until one does, or until its lease expires', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, share: 1 / 10 })
  const [one, two] = [1, 2].map(environment => [{ environment, destination: null }])
  expect([capacity.certainlyFits(1), waiting.fitsAny(one!)]).toEqual([true, true])
  const [accepted] = waiting.accept(candidates(1, null, 2))
  expect([capacity.certainlyFits(1), waiting.fitsAny(one!), waiting.fitsAny([...one!, ...two!])]).toEqual([false, false, true])
  const later = performance.now() + 60_000
  waiting.park({ batch: { number: 1, count: 3 }, groups: one!, until: later })
  waiting.park({ batch: { number: 2, count: 3 }, groups: two!, until: performance.now() - 1 })
  expect(waiting.unpark()).toBeNull()
  capacity.remove(accepted!.claimed)
  // A job that waits from an earlier batch comes before another batch of its group.
  expect(waiting.unpark()).toBeNull()
  const [next] = waiting.acceptWaiting(0)
  capacity.remove(next!.claimed)
  expect(waiting.unpark()?.number).toBe(1)
  expect(waiting.clear()).toEqual({ claimed: [], batches: [] })
})

test('no more jobs are accepted than the concurrency, however many a batch has', () => {
  const { capacity, waiting } = withLimits({ concurrency: 3 })
  const accepted = waiting.accept(candidates(1, null, 5))
  expect([accepted.length, capacity.free()]).toEqual([3, 0])
  capacity.remove(accepted[0]!.claimed)
  expect(waiting.acceptWaiting(0).map(({ claimed }) => claimed.id)).toEqual([3])
})

test('a process with little free capacity offers none', () => {
  const { capacity } = withLimits({ concurrency: 49 })
  expect(capacity.offer()).toBeNull()
})

test('a project has at most its share of what the others leave, in both of its environments together', () => {
  const { capacity, waiting } = withLimits({ concurrency: 32, share: 1 / 2 })
  const accepted = (environment: number) => waiting.accept(candidates(environment, null, 40)).length
  expect([1, 10, 2, 20, 3, 4, 5, 6].map(accepted)).toEqual([16, 0, 8, 0, 4, 2, 1, 1])
  expect(capacity.free()).toBe(0)
})

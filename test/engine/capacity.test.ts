import { expect, test } from 'vitest'
import { capacity } from '../../workers/capacity.ts'
import { DISPATCH_WINDOW } from '../../workers/sweep.ts'
import { waitingJobs } from '../../workers/waiting-jobs.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'

const candidates = (environment: number, destination: number | null, count: number, until = Number.POSITIVE_INFINITY) =>
  Array.from({ length: count }, (_, id) => ({ claimed: { kind: 'job', id, fence: 1, environment, destination }, until }))

/** The capacity of a handler with these limits, and the jobs that wait for it. */
function withLimits(limits: Pick<JobHandler, 'concurrency' | 'perEnvironment' | 'perDestination'>) {
  const free = capacity({ kind: 'job', ...limits, handle: async () => ({ is: 'succeeded' }) })
  return { capacity: free, waiting: waitingJobs(free) }
}

test('all jobs of one environment that may be dispatched wait while the environment has no capacity, and each waits once', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, perEnvironment: 1 })
  const dispatched = candidates(1, null, DISPATCH_WINDOW / 2)
  const begun: number[] = []
  const first = waiting.admit(dispatched)
  expect(waiting.admit(dispatched.slice(1))).toEqual([])
  for (let next = first; next.length > 0; next = waiting.admitWaiting(0)) {
    expect(next).toHaveLength(1)
    begun.push(next[0]!.claimed.id)
    capacity.remove(next[0]!.claimed)
  }
  expect(begun).toEqual(dispatched.map(({ claimed }) => claimed.id))
})

test('the capacity that a sweep may use stays reserved meanwhile: no environment and no destination exceeds its limit', () => {
  const { capacity, waiting } = withLimits({ concurrency: 400, perEnvironment: 100, perDestination: 20 })
  expect(waiting.admit([...candidates(1, null, 100), ...candidates(2, 7, 16), ...candidates(3, 8, 15)])).toHaveLength(131)
  const offer = capacity.offer()
  expect(offer).toEqual({ most: 5, fullEnvironments: [1], fullDestinations: [7] })
  expect(capacity.free()).toBe(400 - 131 - 5)
  expect(waiting.admit(candidates(3, 8, 5))).toEqual([])
  expect(waiting.admit(candidates(4, 9, 20))).toHaveLength(15)
  capacity.withdraw(offer!)
  for (const { claimed } of candidates(3, 8, 5)) capacity.add(claimed)
  expect(waiting.admitWaiting(0)).toHaveLength(5)
  expect(capacity.free()).toBe(400 - 131 - 15 - 5 - 5)
})

test('a waiting job whose lease is too short when there is capacity is forgotten, and fits when it is dispatched again', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, perEnvironment: 2 })
  const [first, second] = waiting.admit(candidates(1, null, 5, performance.now() + 900))
  expect(waiting.admit(candidates(2, null, 2))).toHaveLength(2)
  for (const { claimed } of [first!, second!]) capacity.remove(claimed)
  expect(waiting.admitWaiting(1_000)).toEqual([])
  const again = candidates(1, null, 2)
  expect(waiting.admit(again)).toEqual(again)
  expect(capacity.free()).toBe(6)
})

test('a batch of which no job fits is parked until one does, or until its lease expires', () => {
  const { capacity, waiting } = withLimits({ concurrency: 10, perEnvironment: 1 })
  const [one, two] = [1, 2].map(environment => [{ environment, destination: null }])
  expect([capacity.certainlyFits(1), waiting.fitsAny(one!)]).toEqual([true, true])
  const [admitted] = waiting.admit(candidates(1, null, 2))
  expect([capacity.certainlyFits(1), waiting.fitsAny(one!), waiting.fitsAny([...one!, ...two!])]).toEqual([false, false, true])
  const later = performance.now() + 60_000
  waiting.park({ batch: { number: 1, count: 3 }, groups: one!, until: later })
  waiting.park({ batch: { number: 2, count: 3 }, groups: two!, until: performance.now() - 1 })
  expect(waiting.unpark()).toBeNull()
  capacity.remove(admitted!.claimed)
  // A job that waits from an earlier batch comes before another batch of its group.
  expect(waiting.unpark()).toBeNull()
  const [next] = waiting.admitWaiting(0)
  capacity.remove(next!.claimed)
  expect(waiting.unpark()?.number).toBe(1)
  expect(waiting.clear()).toEqual({ claimed: [], batches: [] })
})

test('no more jobs are admitted than the concurrency, however many a batch has', () => {
  const { capacity, waiting } = withLimits({ concurrency: 3 })
  const admitted = waiting.admit(candidates(1, null, 5))
  expect([admitted.length, capacity.free()]).toEqual([3, 0])
  capacity.remove(admitted[0]!.claimed)
  expect(waiting.admitWaiting(0).map(({ claimed }) => claimed.id)).toEqual([3])
})

test('a process with little free capacity offers none', () => {
  const { capacity } = withLimits({ concurrency: 49 })
  expect(capacity.offer()).toBeNull()
})

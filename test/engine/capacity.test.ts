import { expect, test } from 'vitest'
import { capacity } from '../../workers/capacity.ts'
import { WINDOW } from '../../workers/sweep.ts'

const candidates = (environment: number, destination: number | null, count: number, until = Number.POSITIVE_INFINITY) =>
  Array.from({ length: count }, (_, id) => ({ claimed: { kind: 'job', id, fence: 1, environment, destination }, until }))

test('whatever may be rung of one environment is kept in mind while it has no room, and nothing twice', () => {
  const perform = async () => ({ is: 'succeeded' as const })
  const room = capacity({ kind: 'job', concurrency: 10, perEnvironment: 1, handle: perform })
  const rung = candidates(1, null, WINDOW / 2)
  const turns: number[] = []
  const first = room.admit(rung)
  expect(room.admit(rung.slice(1))).toEqual([])
  for (let next = first; next.length > 0; next = room.admitWaiting(0)) {
    expect(next).toHaveLength(1)
    turns.push(next[0]!.claimed.id)
    room.vacate(next[0]!.claimed)
  }
  expect(turns).toEqual(rung.map(({ claimed }) => claimed.id))
})

test('what a sweep may claim keeps its room meanwhile: no environment and no destination has more than its limit', () => {
  const perform = async () => ({ is: 'succeeded' as const })
  const room = capacity({ kind: 'job', concurrency: 400, perEnvironment: 100, perDestination: 20, handle: perform })
  expect(room.admit([...candidates(1, null, 100), ...candidates(2, 7, 16), ...candidates(3, 8, 15)])).toHaveLength(131)
  const offer = room.offer()
  expect(offer).toEqual({ most: 5, fullEnvironments: [1], fullDestinations: [7] })
  expect(room.free()).toBe(400 - 131 - 5)
  expect(room.admit(candidates(3, 8, 5))).toEqual([])
  expect(room.admit(candidates(4, 9, 20))).toHaveLength(15)
  room.withdraw(offer!)
  for (const { claimed } of candidates(3, 8, 5)) room.occupy(claimed)
  expect(room.admitWaiting(0)).toHaveLength(5)
  expect(room.free()).toBe(400 - 131 - 15 - 5 - 5)
})

test('what is held for us for too short a time when there is room for it is forgotten, and what is rung later has its place', () => {
  const room = capacity({ kind: 'job', concurrency: 10, perEnvironment: 2, handle: async () => ({ is: 'succeeded' }) })
  const [first, second] = room.admit(candidates(1, null, 5, performance.now() + 900))
  expect(room.admit(candidates(2, null, 2))).toHaveLength(2)
  for (const { claimed } of [first!, second!]) room.vacate(claimed)
  expect(room.admitWaiting(1_000)).toEqual([])
  const again = candidates(1, null, 2)
  expect(room.admit(again)).toEqual(again)
  expect(room.free()).toBe(6)
})

test('a ring for which there is no room is parked until there is, or its time is over', () => {
  const room = capacity({ kind: 'job', concurrency: 10, perEnvironment: 1, handle: async () => ({ is: 'succeeded' }) })
  const [one, two] = [1, 2].map(environment => [{ environment, destination: null }])
  expect([room.surelyFits(1), room.hasRoomFor(one!)]).toEqual([true, true])
  const [held] = room.admit(candidates(1, null, 2))
  expect([room.surelyFits(1), room.hasRoomFor(one!), room.hasRoomFor([...one!, ...two!])]).toEqual([false, false, true])
  const later = performance.now() + 60_000
  room.park({ ring: { number: 1, count: 3 }, groups: one!, until: later })
  room.park({ ring: { number: 2, count: 3 }, groups: two!, until: performance.now() - 1 })
  expect(room.unpark()).toBeNull()
  room.vacate(held!.claimed)
  // What waits from an earlier ring comes before another ring of the same.
  expect(room.unpark()).toBeNull()
  const [next] = room.admitWaiting(0)
  room.vacate(next!.claimed)
  expect(room.unpark()?.ring.number).toBe(1)
  expect(room.forgetAll()).toEqual({ claimed: [], rings: [] })
})

test('no more are admitted than there are slots, however many a ring stands for', () => {
  const room = capacity({ kind: 'job', concurrency: 3, handle: async () => ({ is: 'succeeded' }) })
  const admitted = room.admit(candidates(1, null, 5))
  expect([admitted.length, room.free()]).toEqual([3, 0])
  room.vacate(admitted[0]!.claimed)
  expect(room.admitWaiting(0).map(({ claimed }) => claimed.id)).toEqual([3])
})

test('who has little room left offers none', () => {
  const room = capacity({ kind: 'job', concurrency: 49, handle: async () => ({ is: 'succeeded' }) })
  expect(room.offer()).toBeNull()
})

import { expect, test } from 'vitest'
import { slots } from '../../workers/slots.ts'
import { WINDOW } from '../../workers/sweep.ts'

test('whatever may be rung of one environment is kept in mind while it has no room, and nothing twice', () => {
  const perform = async () => ({ is: 'succeeded' as const })
  const room = slots({ kind: 'job', concurrency: 10, perEnvironment: 1, perform })
  const rung = Array.from({ length: WINDOW / 2 }, (_, id) => ({ id, environment: 1, destination: null }))
  const turns: number[] = []
  for (let next = room.admit(rung); next.length > 0; next = room.admitWaiting()) {
    expect(next).toHaveLength(1)
    turns.push(next[0]!.id)
    room.vacate(next[0]!)
  }
  expect(turns).toEqual(rung.map(({ id }) => id))
})

test('what a sweep may claim keeps its room meanwhile: no environment and no destination has more than its limit', () => {
  const perform = async () => ({ is: 'succeeded' as const })
  const room = slots({ kind: 'job', concurrency: 400, perEnvironment: 100, perDestination: 20, perform })
  const of = (environment: number, destination: number | null, count: number) =>
    Array.from({ length: count }, (_, id) => ({ id, environment, destination }))
  expect(room.admit([...of(1, null, 100), ...of(2, 7, 16), ...of(3, 8, 15)])).toHaveLength(131)
  const offer = room.offer()
  expect(offer).toEqual({ most: 5, fullEnvironments: [1], fullDestinations: [7] })
  expect(room.free()).toBe(400 - 131 - 5)
  expect(room.admit(of(3, 8, 5))).toEqual([])
  expect(room.admit(of(4, 9, 20))).toHaveLength(15)
  room.withdraw(offer!)
  for (const claimed of of(3, 8, 5)) room.occupy(claimed)
  expect(room.admitWaiting()).toHaveLength(5)
  expect(room.free()).toBe(400 - 131 - 15 - 5 - 5)
})

test('who has little room left offers none', () => {
  const room = slots({ kind: 'job', concurrency: 49, perform: async () => ({ is: 'succeeded' }) })
  expect(room.offer()).toBeNull()
})

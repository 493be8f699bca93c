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

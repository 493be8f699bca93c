import { expect, test } from 'vitest'
import { turns } from '../../workers/turns.ts'
import { until } from '../harness/until.ts'

test('whoever wants another turn goes to the end of the line: a new key waits for one turn of each other key', async () => {
  const order: string[] = []
  const line = turns<string>(1, async key => {
    order.push(key)
    await Promise.resolve()
    if (order.length === 4) line.wake('b', 'b')
    return { again: key !== 'b' && order.length < 12 }
  })
  for (const key of ['x', 'y', 'z']) line.wake(key, key)
  await until('the end', () => order.length >= 12 || undefined)
  expect(order.slice(0, 12)).toEqual(['x', 'y', 'z', 'x', 'y', 'z', 'b', 'x', 'y', 'z', 'x', 'y'])
  await line.stop()
})

test('a key has one turn at a time, and another one when it was woken meanwhile', async () => {
  const ends: (() => void)[] = []
  const line = turns<null>(4, async () => {
    await new Promise<void>(resolve => ends.push(resolve))
    return { again: false }
  })
  for (let n = 0; n < 3; n++) line.wake('x', null)
  expect(ends).toHaveLength(1)
  ends[0]!()
  await until('the second turn', () => ends.length === 2 || undefined)
  ends[1]!()
  await line.stop()
  expect(ends).toHaveLength(2)
})

import { expect, test } from 'vitest'
import { takingTurns } from '../../store/taking-turns.ts'

const tick = () => new Promise<void>(resolve => setImmediate(resolve))

test('no more than the limit run at once; work that comes after a crowd waits for one of them, not for all', async () => {
  const inTurn = takingTurns(2)
  const order: string[] = []
  let now = 0
  let most = 0
  const work = (name: string) => async () => {
    order.push(name)
    now++
    most = Math.max(most, now)
    await tick()
    now--
  }
  const crowd = Array.from({ length: 50 }, (_, i) => inTurn(1, work(`a${i}`)))
  const late = inTurn(2, work('b'))
  await Promise.all([...crowd, late])
  expect(most).toBe(2)
  expect(order).toHaveLength(51)
  expect(order.indexOf('b')).toBeLessThan(5)
  expect(order.filter(name => name !== 'b')).toEqual(Array.from({ length: 50 }, (_, i) => `a${i}`))
})

test('work that fails frees its turn', async () => {
  const inTurn = takingTurns(1)
  await expect(inTurn(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await inTurn(1, async () => 'yes')).toBe('yes')
})

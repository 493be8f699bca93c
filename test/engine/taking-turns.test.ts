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

test('with a share, work of a few keys that never ends leaves turns for the next one', async () => {
  const inTurn = takingTurns(10, { share: 1 / 2 })
  const begun: number[] = []
  const ends: (() => void)[] = []
  const hang = (key: number) => () => {
    begun.push(key)
    return new Promise<void>(end => ends.push(end))
  }
  const all = [1, 2, 3, 4].flatMap(key => Array.from({ length: 20 }, () => inTurn(key, hang(key))))
  await tick()
  expect([1, 2, 3, 4].map(key => begun.filter(one => one === key).length)).toEqual([5, 3, 1, 1])
  // The first turn that is freed stays for another key. The next one goes to the keys with the least.
  for (const next of [[], [3]]) {
    ends.shift()!()
    await tick()
    expect(begun.slice(10)).toEqual(next)
  }
  for (let open = true; open; ) {
    open = ends.length > 0
    for (const end of ends.splice(0)) end()
    await tick()
  }
  await Promise.all(all)
  expect(begun).toHaveLength(80)
})

test('a wait that is given up takes no turn', async () => {
  const inTurn = takingTurns(1)
  const first = Promise.withResolvers<void>()
  const held = inTurn(1, () => first.promise)
  const patience = new AbortController()
  const waited: boolean[] = []
  const given = inTurn(1, async () => 'never', { patience: () => patience.signal })
  const next = inTurn(1, async hasWaited => void waited.push(hasWaited))
  patience.abort(new Error('too late'))
  await expect(given).rejects.toThrow('too late')
  first.resolve()
  await Promise.all([held, next])
  expect(waited).toEqual([true])
  await inTurn(1, async hasWaited => void waited.push(hasWaited))
  expect(waited).toEqual([true, false])
})

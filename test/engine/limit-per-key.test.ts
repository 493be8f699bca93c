import { expect, test } from 'vitest'
import { limitPerKey } from '../../store/limit-per-key.ts'

const tick = () => new Promise(setImmediate)

test('so much work of a key runs at a time, the rest in its order; other keys do not wait, and a failure gives its place away', async () => {
  const inTurn = limitPerKey(2)
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const run = (key: number, name: string) =>
    inTurn(key, async () => {
      begun.push(name)
      const end = Promise.withResolvers<void>()
      ends.set(name, end)
      await end.promise
      return name
    })
  const all = ['a', 'b', 'c', 'd'].map(name => run(1, name))
  const other = run(2, 'other')
  await tick()
  expect(begun).toEqual(['a', 'b', 'other'])
  ends.get('b')!.reject(new Error('failed'))
  await expect(all[1]).rejects.toThrow('failed')
  await tick()
  expect(begun).toEqual(['a', 'b', 'other', 'c'])
  ends.get('a')!.resolve()
  await tick()
  expect(begun.at(-1)).toBe('d')
  for (const name of ['c', 'd', 'other']) ends.get(name)!.resolve()
  expect(await Promise.all([all[0], all[2], all[3], other])).toEqual(['a', 'c', 'd', 'other'])
  const later = run(1, 'later')
  await tick()
  ends.get('later')!.resolve()
  expect(await later).toBe('later')
})

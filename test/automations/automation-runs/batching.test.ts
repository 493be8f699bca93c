import { expect, test } from 'vitest'
import { batching } from '../../../store/batching.ts'

const tick = () => new Promise(setImmediate)

test('calls of the same moment share one flush, and each caller gets its own result', async () => {
  const flushes: number[][] = []
  const double = batching(async (items: readonly number[]) => {
    flushes.push([...items])
    return items.map(item => item * 2)
  })
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6])
  expect(flushes).toEqual([[1, 2, 3]])
})

test('at most two flushes are in flight, and calls made meanwhile go into the next flush', async () => {
  const under: { items: readonly number[]; done: () => void }[] = []
  const write = batching(
    (items: readonly number[]) => new Promise<number[]>(resolve => under.push({ items, done: () => resolve([...items]) })),
  )
  const all: Promise<number>[] = []
  for (let n = 0; n < 5; n++) {
    all.push(write(n))
    await tick()
    await tick()
  }
  expect(under.map(({ items }) => items)).toEqual([[0], [1]])
  under[0]!.done()
  await tick()
  await tick()
  expect(under.map(({ items }) => items)).toEqual([[0], [1], [2, 3, 4]])
  for (const { done } of under) done()
  expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4])
})

test('one bad item fails only its own caller', async () => {
  const landed: number[] = []
  const write = batching(async (items: readonly number[]) => {
    if (items.includes(13)) throw new Error('a bad row')
    landed.push(...items)
    return items
  })
  const results = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => write(n)))
  expect(results.flatMap((result, n) => (result.status === 'rejected' ? [n] : []))).toEqual([13])
  expect(landed.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n).filter(n => n !== 13))
})

test('an unreachable database fails all callers at once, and the batch is not split and repeated', async () => {
  let flushes = 0
  const write = batching(async (_items: readonly number[]): Promise<number[]> => {
    flushes++
    throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
  })
  const results = await Promise.allSettled([1, 2, 3, 4].map(write))
  expect(results.every(result => result.status === 'rejected')).toBe(true)
  expect(flushes).toBe(1)
})

test('a batch that meets a deadlock is repeated as a whole', async () => {
  const sizes: number[] = []
  const write = batching(async (items: readonly number[]) => {
    sizes.push(items.length)
    if (sizes.length === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
    return items
  })
  expect(await Promise.all([1, 2, 3].map(write))).toEqual([1, 2, 3])
  expect(sizes).toEqual([3, 3])
})

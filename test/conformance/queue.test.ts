import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Batch } from '../../domain/jobs/sweep.ts'
import { bullmqQueue } from '../../workers/bullmq.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import type { Queue } from '../../workers/queue.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.end())

const rings = (...numbers: number[]): Batch[] => numbers.map(number => ({ number, count: 1 }))

/** Every driver of the seam, made anew on the same installation at each call. */
const DRIVERS: [name: string, make: (database: FreshDatabase) => Promise<Queue>][] = [
  ['pg-boss', database => pgBossQueue({ url: database.url, onError: () => {} })],
  ['bullmq', database => bullmqQueue({ url: redis.url, prefix: new URL(database.url).pathname.slice(1), onError: () => {} })],
]

describe.each(DRIVERS)('%s', (_name, make) => {
  let database: FreshDatabase
  const open: Queue[] = []
  const queue = async () => {
    const made = await make(database)
    open.push(made)
    return made
  }
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map(made => made.close()))
    await database.drop()
  })

  const collect = async (listener: Queue, kind: string) => {
    const heard: number[] = []
    await listener.listen(kind, async ({ number }) => {
      heard.push(number)
    })
    return heard
  }
  const hears = (heard: number[], count: number) => until(`${count} rings`, () => (heard.length >= count ? heard : undefined))

  test('what is rung is heard, also by another process', async () => {
    const [bell, listener] = [await queue(), await queue()]
    const heard = await collect(listener, 'a')
    await bell.announce('a', rings(1, 2, 3))
    expect([...(await hears(heard, 3))].sort()).toEqual([1, 2, 3])
  })

  test('kinds are kept apart', async () => {
    const one = await queue()
    const [a, b] = [await collect(one, 'a'), await collect(one, 'b')]
    await one.announce('b', rings(9))
    await hears(b, 1)
    expect(a).toEqual([])
  })

  test('a ring says how many it stands for', async () => {
    const one = await queue()
    const heard: Batch[] = []
    await one.listen('a', async ring => void heard.push(ring))
    await one.announce('a', [{ number: 12, count: 200 }])
    expect(await until('the ring', () => heard[0])).toEqual({ number: 12, count: 200 })
  })

  test('what is no ring, as an earlier version may have left it, is passed over', async () => {
    const one = await queue()
    const heard = await collect(one, 'a')
    const [formerly, now] = [{ ids: [1, 2] } as unknown as Batch, { number: 7, count: 1 }]
    await one.announce('a', [formerly, { number: 3, count: 0 }, now])
    await hears(heard, 1)
    expect(heard).toEqual([7])
  })

  test('of many rings each is heard', async () => {
    const one = await queue()
    const heard = await collect(one, 'a')
    const numbers = Array.from({ length: 100 }, (_, i) => i)
    await one.announce('a', rings(...numbers))
    await hears(heard, numbers.length)
    expect([...heard].sort((x, y) => x - y)).toEqual(numbers)
  })

  test('rings from before anybody listened are heard', async () => {
    const one = await queue()
    await one.announce('early', rings(5))
    expect(await hears(await collect(one, 'early'), 1)).toEqual([5])
  })

  test('a listener that throws does not stop later rings', async () => {
    const one = await queue()
    const heard: number[] = []
    await one.listen('a', async ({ number }) => {
      heard.push(number)
      if (number === 1) throw new Error('claiming failed')
    })
    await one.announce('a', rings(1))
    await hears(heard, 1)
    await one.announce('a', rings(2))
    await until('the second ring', () => (heard.includes(2) ? true : undefined))
  })

  test('a listener that is full holds up its own kind only', async () => {
    const one = await queue()
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    await one.listen('full', () => gate)
    const heard = await collect(one, 'free')
    await one.announce('full', rings(1))
    await one.announce('free', rings(2))
    await hears(heard, 1)
    open()
  })

  test('after close nothing is heard any more', async () => {
    const [bell, listener] = [await queue(), await make(database)]
    const heard = await collect(listener, 'a')
    await listener.close()
    await bell.announce('a', rings(1))
    const other = await collect(bell, 'a')
    await hears(other, 1)
    expect(heard).toEqual([])
  })
})

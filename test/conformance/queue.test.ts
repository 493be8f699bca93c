import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Batch } from '../../domain/durable/jobs/sweep.ts'
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

const batches = (...numbers: number[]): Batch[] => numbers.map(number => ({ number, count: 1 }))

/** Every driver of the seam; each call opens another queue of the same installation. */
const DRIVERS: [name: string, make: (database: FreshDatabase) => Promise<Queue>][] = [
  ['pg-boss', database => pgBossQueue({ url: database.url, onError: () => {} })],
  [
    'bullmq',
    database => bullmqQueue({ redis: { is: 'one', url: redis.url }, prefix: new URL(database.url).pathname.slice(1), onError: () => {} }),
  ],
]

describe.each(DRIVERS)('%s', (_name, make) => {
  let database: FreshDatabase
  const open: Queue[] = []
  const queue = async () => {
    const opened = await make(database)
    open.push(opened)
    return opened
  }
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map(opened => opened.close()))
    await database.drop()
  })

  const collect = async (listener: Queue, kind: string) => {
    const received: number[] = []
    await listener.listen(kind, async ({ number }) => {
      received.push(number)
    })
    return received
  }
  const receives = (received: number[], count: number) =>
    until(`${count} messages`, () => (received.length >= count ? received : undefined))

  test('a batch that is announced is received, also by another process', async () => {
    const [announcer, listener] = [await queue(), await queue()]
    const received = await collect(listener, 'a')
    await announcer.announce('a', batches(1, 2, 3))
    expect([...(await receives(received, 3))].sort()).toEqual([1, 2, 3])
  })

  test('kinds are kept apart', async () => {
    const one = await queue()
    const [a, b] = [await collect(one, 'a'), await collect(one, 'b')]
    await one.announce('b', batches(9))
    await receives(b, 1)
    expect(a).toEqual([])
  })

  test('a message says how many jobs its batch has', async () => {
    const one = await queue()
    const received: Batch[] = []
    await one.listen('a', async batch => void received.push(batch))
    await one.announce('a', [{ number: 12, count: 200 }])
    expect(await until('the message', () => received[0])).toEqual({ number: 12, count: 200 })
  })

  test('a message of another shape, as an earlier version may have left it, is skipped', async () => {
    const one = await queue()
    const received = await collect(one, 'a')
    const [former, now] = [{ ids: [1, 2] } as unknown as Batch, { number: 7, count: 1 }]
    await one.announce('a', [former, { number: 3, count: 0 }, now])
    await receives(received, 1)
    expect(received).toEqual([7])
  })

  test('of many messages each is received', async () => {
    const one = await queue()
    const received = await collect(one, 'a')
    const numbers = Array.from({ length: 100 }, (_, i) => i)
    await one.announce('a', batches(...numbers))
    await receives(received, numbers.length)
    expect([...received].sort((x, y) => x - y)).toEqual(numbers)
  })

  test('messages from before the first listener are received', async () => {
    const one = await queue()
    await one.announce('early', batches(5))
    expect(await receives(await collect(one, 'early'), 1)).toEqual([5])
  })

  test('a listener that throws does not stop later messages', async () => {
    const one = await queue()
    const received: number[] = []
    await one.listen('a', async ({ number }) => {
      received.push(number)
      if (number === 1) throw new Error('claiming failed')
    })
    await one.announce('a', batches(1))
    await receives(received, 1)
    await one.announce('a', batches(2))
    await until('the second message', () => (received.includes(2) ? true : undefined))
  })

  test('a listener that is full delays its own kind only', async () => {
    const one = await queue()
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    await one.listen('full', () => gate)
    const received = await collect(one, 'free')
    await one.announce('full', batches(1))
    await one.announce('free', batches(2))
    await receives(received, 1)
    open()
  })

  test('after close nothing is received any more', async () => {
    const [announcer, listener] = [await queue(), await make(database)]
    const received = await collect(listener, 'a')
    await listener.close()
    await announcer.announce('a', batches(1))
    const other = await collect(announcer, 'a')
    await receives(other, 1)
    expect(received).toEqual([])
  })
})

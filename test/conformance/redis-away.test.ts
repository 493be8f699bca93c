import { randomUUID } from 'node:crypto'
import { Queue as Bull } from 'bullmq'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bullmqQueue, queueName } from '../../workers/bullmq.ts'
import type { Queue } from '../../workers/queue.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

let redis: TestRedis
const open: Queue[] = []
beforeEach(async () => {
  redis = await startRedis()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map(queue => queue.close()))
  await redis.end()
})

const errors: string[] = []
const prefix = `test-${randomUUID()}`
async function queue(): Promise<Queue> {
  const made = await bullmqQueue({ url: redis.url, prefix, onError: error => errors.push((error as Error).message) })
  open.push(made)
  return made
}

const within = async <T>(ms: number, what: Promise<T>): Promise<T> => {
  const began = performance.now()
  const answer = await what
  expect(performance.now() - began).toBeLessThan(ms)
  return answer
}

async function collect(listener: Queue): Promise<number[]> {
  const heard: number[] = []
  await listener.listen('a', async ({ number }) => {
    heard.push(number)
  })
  return heard
}

let next = 1
/** Rings until one ring was taken and heard: what comes back may need a moment. */
async function works(bell: Queue, heard: number[]): Promise<void> {
  const id = next++
  await until('a ring to be taken', () =>
    bell.announce('a', [{ number: id, count: 1 }]).then(
      () => true,
      () => undefined,
    ),
  )
  await until('the ring to be heard', () => (heard.includes(id) ? true : undefined))
}

test('absent at the start: made at once, rings fail at once; when it comes the same objects work', async () => {
  await redis.stop()
  const one = await within(2_000, queue())
  const heard = await collect(one)
  await within(1_500, expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  await redis.start()
  await works(one, heard)
})

test.each([
  ['killed', () => redis.kill()],
  ['shut down', () => redis.stop()],
])('%s and started again: rings fail at once meanwhile, then the same objects work', async (_name, end) => {
  const [bell, listener] = [await queue(), await queue()]
  const heard = await collect(listener)
  await works(bell, heard)
  await end()
  await within(1_500, expect(bell.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  await redis.start()
  await works(bell, heard)
})

test('flushed: later rings are heard', async () => {
  const one = await queue()
  const heard = await collect(one)
  await works(one, heard)
  await redis.flush()
  await works(one, heard)
})

test('flushed while a ring is being heard: later rings are heard', async () => {
  const one = await queue()
  const heard: number[] = []
  let open = () => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  await one.listen('a', async ({ number }) => {
    heard.push(number)
    if (number === -1) await gate
  })
  await one.announce('a', [{ number: -1, count: 1 }])
  await until('the ring to be heard', () => (heard.includes(-1) ? true : undefined))
  await redis.flush()
  open()
  await works(one, heard)
})

test('hanging: a ring fails within about a second; nothing is lost when it goes on', async () => {
  const one = await queue()
  const heard = await collect(one)
  await works(one, heard)
  redis.freeze()
  await within(2_500, expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  redis.thaw()
  await works(one, heard)
})

test.each([
  ['away', () => redis.kill()],
  ['hanging', async () => redis.freeze()],
])('close does not hang while Redis is %s', async (_name, end) => {
  const one = await queue()
  await works(one, await collect(one))
  await end()
  await within(5_000, one.close())
})

test('close does not hang when Redis was never there', async () => {
  await redis.kill()
  const one = await queue()
  await collect(one)
  await within(5_000, one.close())
})

test('an outage is told once, not at every attempt to connect', async () => {
  const one = await queue()
  const heard = await collect(one)
  await works(one, heard)
  errors.length = 0
  await redis.kill()
  await until('it to be told', () => (errors.length > 0 ? true : undefined))
  await expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow()
  await redis.start()
  await works(one, heard)
  expect(errors.filter(message => message.includes('ECONNREFUSED')).length).toBeLessThanOrEqual(1)
})

test('in Redis nothing is left of rings that were heard, nor of old ones that nobody took', async () => {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
  const kept = new Bull(queueName('a'), { connection, prefix })
  const old = { timestamp: Date.now() - 61_000 }
  for (let i = 0; i < 5; i++) await kept.add('a', { number: i, count: 1 }, old)
  const bell = await queue()
  await bell.announce('a', [{ number: 10, count: 1 }])
  await until('the old ones to go', async () => ((await kept.getWaitingCount()) === 1 ? true : undefined))
  const heard = await collect(bell)
  await until('the ring to be heard', () => (heard.length === 1 ? true : undefined))
  await until('nothing to be left', async () => {
    const counts = Object.values(await kept.getJobCounts())
    return counts.every(count => count === 0) ? true : undefined
  })
  expect(heard).toEqual([10])
  await kept.close()
  connection.disconnect()
})

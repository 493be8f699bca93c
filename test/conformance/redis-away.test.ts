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
  const opened = await bullmqQueue({
    redis: { is: 'one', url: redis.url },
    prefix,
    onError: error => errors.push((error as Error).message),
  })
  open.push(opened)
  return opened
}

const within = async <T>(ms: number, what: Promise<T>): Promise<T> => {
  const began = performance.now()
  const answer = await what
  expect(performance.now() - began).toBeLessThan(ms)
  return answer
}

async function collect(listener: Queue): Promise<number[]> {
  const received: number[] = []
  await listener.listen('a', async ({ number }) => {
    received.push(number)
  })
  return received
}

let next = 1
/** Announces until one announcement is accepted and received: a Redis that comes back may need a moment. */
async function works(announcer: Queue, received: number[]): Promise<void> {
  const id = next++
  await until('an accepted announcement', () =>
    announcer.announce('a', [{ number: id, count: 1 }]).then(
      () => true,
      () => undefined,
    ),
  )
  await until('the message', () => (received.includes(id) ? true : undefined))
}

test('absent at the start: the queue opens at once and announcements fail at once; when Redis comes the same objects work', async () => {
  await redis.stop()
  const one = await within(10_000, queue())
  const received = await collect(one)
  await within(10_000, expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  await redis.start()
  await works(one, received)
})

test.each([
  ['killed', () => redis.kill()],
  ['shut down', () => redis.stop()],
])('%s and started again: announcements fail at once meanwhile, then the same objects work', async (_name, end) => {
  const [announcer, listener] = [await queue(), await queue()]
  const received = await collect(listener)
  await works(announcer, received)
  await end()
  await within(10_000, expect(announcer.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  await redis.start()
  await works(announcer, received)
})

test('flushed: later messages are received', async () => {
  const one = await queue()
  const received = await collect(one)
  await works(one, received)
  await redis.flush()
  await works(one, received)
})

test('flushed while a message is being handled: later messages are received', async () => {
  const one = await queue()
  const received: number[] = []
  let open = () => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  await one.listen('a', async ({ number }) => {
    received.push(number)
    if (number === -1) await gate
  })
  await one.announce('a', [{ number: -1, count: 1 }])
  await until('the message', () => (received.includes(-1) ? true : undefined))
  await redis.flush()
  open()
  await works(one, received)
})

test('hanging: an announcement fails within about a second; nothing is lost when Redis goes on', async () => {
  const one = await queue()
  const received = await collect(one)
  await works(one, received)
  redis.freeze()
  await within(10_000, expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow())
  redis.thaw()
  await works(one, received)
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

test('an outage is reported once, not at every attempt to connect', async () => {
  const one = await queue()
  const received = await collect(one)
  await works(one, received)
  errors.length = 0
  await redis.kill()
  await until('the report', () => (errors.length > 0 ? true : undefined))
  await expect(one.announce('a', [{ number: 1, count: 1 }])).rejects.toThrow()
  await redis.start()
  await works(one, received)
  expect(errors.filter(message => message.includes('ECONNREFUSED')).length).toBeLessThanOrEqual(1)
})

test('nothing is left in Redis of messages that were handled, nor of old ones that no worker received', async () => {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
  const kept = new Bull(queueName('a'), { connection, prefix })
  const old = { timestamp: Date.now() - 61_000 }
  for (let i = 0; i < 5; i++) await kept.add('a', { number: i, count: 1 }, old)
  const announcer = await queue()
  await announcer.announce('a', [{ number: 10, count: 1 }])
  await until('the removal of the old ones', async () => ((await kept.getWaitingCount()) === 1 ? true : undefined))
  const received = await collect(announcer)
  await until('the message', () => (received.length === 1 ? true : undefined))
  await until('an empty queue', async () => {
    const counts = Object.values(await kept.getJobCounts())
    return counts.every(count => count === 0) ? true : undefined
  })
  expect(received).toEqual([10])
  await kept.close()
  connection.disconnect()
})

import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { bullmqQueue } from '../../workers/bullmq.ts'
import { settled } from '../../workers/redis.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.end())

const news: string[] = []
beforeEach(() => void news.splice(0))

async function watched() {
  const queue = await bullmqQueue({
    redis: { is: 'one', url: redis.url },
    prefix: `test-${randomUUID()}`,
    watchMs: 50,
    onError: error => news.push(`down: ${(error as Error).message}`),
    onUp: () => news.push('up'),
    onPolicy: (policy, keepsAll) => news.push(`${policy} ${keepsAll}`),
  })
  onTestFinished(() => queue.close())
  await queue.listen('a', async () => {})
  await until('Redis answers', () => (queue.state().isUp ? true : undefined))
  // On a machine that stands still for a second, a start tells that Redis is away, and that it is back.
  news.splice(0)
  return queue
}

test.each([
  ['hangs', () => redis.freeze(), () => redis.thaw()],
  ['is away', () => redis.stop(), () => redis.start()],
])('a Redis that %s is told once when it begins, and once when it ends', async (_what, begin, end) => {
  const queue = await watched()
  expect(queue.state()).toEqual({ isUp: true, policy: 'noeviction' })
  await begin()
  await until('it is noticed', () => (queue.state().isUp ? undefined : true))
  // Several more looks and attempts to connect.
  await queue.announce('a', [{ number: 1, count: 1 }]).catch(() => {})
  await new Promise(resolve => setTimeout(resolve, 2_500))
  expect(news).toEqual([expect.stringMatching(/^down: ./)])
  await end()
  await until('it is back', () => (queue.state().isUp ? true : undefined))
  expect(news.slice(1)).toEqual(['up'])
})

test('a Redis that evicts is told, and that it does so no more', async () => {
  const queue = await watched()
  await redis.execute('CONFIG SET maxmemory-policy allkeys-lru')
  await until('it is noticed', () => (queue.state().policy === 'allkeys-lru' ? true : undefined))
  await redis.execute('CONFIG SET maxmemory-policy noeviction')
  await until('it is noticed', () => (queue.state().policy === 'noeviction' ? true : undefined))
  expect(news).toEqual(['allkeys-lru false', 'noeviction true'])
})

test('a start that was blocked for longer than it waits for Redis does not take it for away', async () => {
  const connection = new EventEmitter()
  const waiting = settled(connection as Redis)
  for (const end = performance.now() + 1_200; performance.now() < end; );
  let isReady = false
  setTimeout(() => {
    isReady = true
    connection.emit('ready')
  }, 50)
  await waiting
  expect(isReady).toBe(true)
})

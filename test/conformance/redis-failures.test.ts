import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { watchRedis } from '../../workers/redis-watch.ts'

const PERIOD_MS = 10

const news: string[] = []
beforeEach(() => void news.splice(0))

/** A connection to a Redis of which each answer is chosen. */
function watched({ exists = async () => 1 }: { exists?: () => Promise<number> }) {
  const connection = Object.assign(new EventEmitter(), { exists, info: async () => 'maxmemory_policy:noeviction' }) as unknown as Redis
  const watch = watchRedis(connection, [connection], {
    key: '{p}:kinds',
    periodMs: PERIOD_MS,
    onError: error => news.push(`down: ${(error as Error).message}`),
    onFailure: error => news.push(`failed: ${(error as Error).message}`),
    onUp: () => news.push('up'),
  })
  onTestFinished(() => watch.stop())
  watch.begin()
  return { watch, isUp: () => expect.poll(() => watch.state().isUp).toBe(true) }
}

test('a failure of a Redis that works is told as one, and once for all ids', async () => {
  const { watch, isUp } = watched({})
  await isUp()
  for (const text of ['could not renew lock for job 4711', 'could not renew lock for job 4712', 'another failure']) {
    watch.failed(new Error(text))
    const looks = news.length
    await new Promise(resolve => setTimeout(resolve, 5 * PERIOD_MS))
    expect(news.length - looks).toBeLessThanOrEqual(1)
  }
  expect(news).toEqual(['failed: could not renew lock for job 4711', 'failed: another failure'])
})

test('a Redis that is away is told as that, with the reason of the connection', async () => {
  let isAway = false
  const exists = async () => {
    if (isAway) throw new Error('Command timed out')
    return 1
  }
  const { watch, isUp } = watched({ exists })
  await isUp()
  isAway = true
  watch.failed(new Error('connect ECONNREFUSED'))
  await expect.poll(() => watch.state().isUp).toBe(false)
  isAway = false
  await isUp()
  expect(news).toEqual(['down: connect ECONNREFUSED', 'up'])
})

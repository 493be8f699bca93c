import { EventEmitter } from 'node:events'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Connection } from '../../workers/redis.ts'
import { watchRedis } from '../../workers/redis-watch.ts'

const PERIOD_MS = 10

const news: string[] = []
beforeEach(() => void news.splice(0))

/** A connection to a Redis of which each answer is chosen. */
function watched(answers: { exists?: () => Promise<number>; isCluster?: boolean }) {
  const asked: unknown[][] = []
  const connection = Object.assign(new EventEmitter(), {
    isCluster: answers.isCluster ?? false,
    exists: answers.exists ?? (async () => 1),
    async info(...of: unknown[]) {
      asked.push(['info', ...of])
      return 'maxmemory_policy:noeviction'
    },
    async eval(...of: unknown[]) {
      asked.push(['eval', ...of])
      return 'maxmemory_policy:allkeys-lru'
    },
  })
  const watch = watchRedis(connection as unknown as Connection, [connection as unknown as Connection], {
    key: '{p}:kinds',
    periodMs: PERIOD_MS,
    onError: error => news.push(`down: ${(error as Error).message}`),
    onFailure: error => news.push(`failed: ${(error as Error).message}`),
    onUp: () => news.push('up'),
  })
  onTestFinished(() => watch.stop())
  watch.begin()
  return { watch, asked, isUp: () => expect.poll(() => watch.state().isUp).toBe(true) }
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

test('in a cluster the node that has the keys is asked for its memory', async () => {
  const { watch, asked } = watched({ isCluster: true })
  await expect.poll(() => watch.state()).toEqual({ isUp: true, policy: 'allkeys-lru' })
  expect(asked[0]).toEqual(['eval', expect.stringContaining('INFO'), 1, '{p}:kinds'])
})

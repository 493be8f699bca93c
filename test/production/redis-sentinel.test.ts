import { afterEach, expect, test, vi } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import type { Installation } from '../harness/installation.ts'
import type { QueueServers } from '../harness/redis.ts'
import { becomesReplica, failoverOfQueue, failoverUnderLoad, HUNG, serviceOn } from '../harness/redis-failover.ts'
import { SENTINEL_PASSWORD } from '../harness/redis-rights.ts'
import { startSentinels } from '../harness/redis-sentinels.ts'
import { queueOf } from '../harness/redis-use.ts'

vi.setConfig({ testTimeout: 540_000 })

let sentinels: QueueServers | undefined
let site: Installation | undefined
let queue: Queue | undefined
afterEach(async () => {
  await queue?.close()
  await site?.end()
  await sentinels?.end()
  queue = site = sentinels = undefined
})

test.each([
  ['without TLS', false],
  ['over TLS', true],
])('%s, the primary is killed under load: nothing lost, nothing twice, and the queue is used again soon', async (_name, hasTls) => {
  sentinels = await startSentinels({ hasTls })
  site = await serviceOn(sentinels)
  const killed = await failoverUnderLoad(sentinels, site, [SENTINEL_PASSWORD])
  expect(killed).toBe(sentinels.servers[0])
  await killed.start()
  await becomesReplica(killed)
})

test('the primary hangs while batches are announced: those of every kind are received again', async () => {
  sentinels = await startSentinels()
  queue = await queueOf(sentinels.env, 'perennial-test')
  await failoverOfQueue(sentinels, queue, HUNG)
})

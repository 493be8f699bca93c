import { afterEach, test, vi } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import type { Installation } from '../harness/installation.ts'
import type { QueueServers } from '../harness/redis.ts'
import { startCluster } from '../harness/redis-cluster.ts'
import { failoverOfQueue, failoverUnderLoad, HUNG, KILLED, serviceOn } from '../harness/redis-failover.ts'
import { queueOf } from '../harness/redis-use.ts'

vi.setConfig({ testTimeout: 540_000 })

let cluster: QueueServers | undefined
let site: Installation | undefined
let queue: Queue | undefined
afterEach(async () => {
  await queue?.close()
  await site?.end()
  await cluster?.end()
  queue = site = cluster = undefined
})

test.each([
  ['without TLS', false],
  ['over TLS', true],
])('%s, the node with the keys is killed under load: nothing lost, nothing twice, and the queue is used again soon', async (_name, hasTls) => {
  cluster = await startCluster({ hasTls })
  site = await serviceOn(cluster)
  await failoverUnderLoad(cluster, site)
})

test.each([
  ['is killed', KILLED],
  ['hangs', HUNG],
])('the node with the keys %s while batches are announced: those of every kind are received again', async (_name, fault) => {
  cluster = await startCluster()
  queue = await queueOf(cluster.env, '{perennial-test}')
  await failoverOfQueue(cluster, queue, fault)
})

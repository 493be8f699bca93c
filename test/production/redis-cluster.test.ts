import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { bullmqQueue } from '../../workers/bullmq.ts'
import type { Queue } from '../../workers/queue.ts'
import { type RedisCluster, startCluster } from '../harness/redis-cluster.ts'
import { calls } from '../harness/redis-use.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 300_000 })

const KINDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const PERIOD_MS = 500
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 60_000

let cluster: RedisCluster | undefined
let queue: Queue | undefined
afterEach(async () => {
  await queue?.close()
  await cluster?.end()
})

test('the primary with the keys is killed while batches are announced: those of every kind are received again', async () => {
  cluster = await startCluster()
  const { servers, nodes } = cluster
  const hosts = nodes.split(',').map(node => ({ host: node.split(':')[0]!, port: Number(node.split(':')[1]) }))
  const login = { username: undefined, password: undefined }
  const opened = await bullmqQueue({
    redis: { is: 'cluster', hosts, login, tls: undefined },
    prefix: '{perennial-test}',
    onError: () => {},
  })
  queue = opened
  const last = new Map<string, number>()
  for (const kind of KINDS) await opened.listen(kind, async ({ number }) => void last.set(kind, number))
  let number = 0
  /** Announces a batch of each kind, and resolves when the last one that was accepted or a later one is received. */
  const allReceived = async () => {
    const from = ++number
    await until(
      'a batch of every kind',
      async () => {
        await Promise.allSettled(KINDS.map(kind => opened.announce(kind, [{ number, count: 1 }])))
        number++
        await pause(PERIOD_MS)
        return KINDS.every(kind => (last.get(kind) ?? 0) >= from) || undefined
      },
      120_000,
    )
  }
  await allReceived()
  const counts = await Promise.all(servers.map(server => calls(server, 'bzpopmin')))
  // All keys of an installation are on one node.
  expect(counts.filter(count => count > 0)).toHaveLength(1)
  const began = performance.now()
  await servers[counts.findIndex(count => count > 0)]!.kill()
  await allReceived()
  const usedAgainMs = Math.round(performance.now() - began)
  console.info('cluster', { usedAgainMs })
  expect(usedAgainMs).toBeLessThan(USED_AGAIN_MS)
})

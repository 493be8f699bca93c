import { afterEach, expect, test, vi } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import { evenLoad } from '../harness/even-load.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import type { QueueServers } from '../harness/redis.ts'
import { startCluster } from '../harness/redis-cluster.ts'
import { PASSWORD } from '../harness/redis-rights.ts'
import { listenTo, promotion, queueOf, serverInUse, usedAgain } from '../harness/redis-use.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 540_000 })

/** No worker dies, and none may seem to be dead on a machine that has other work: its jobs would be done again. */
const LEASE_SECONDS = 60
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 60_000
const KINDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

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
  const { servers, env } = cluster
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS, env: { ...env, LOG_LEVEL: 'warn' } })
  const workers = await Promise.all([site.worker(), site.worker()])
  let promotedMs: number | undefined
  const outcome = await evenLoad(site, async () => {
    const victim = await serverInUse(servers)
    await victim.kill()
    const others = servers.filter(server => server !== victim)
    const promoted = promotion(others).then(ms => {
      promotedMs = ms
    })
    return { whenUsed: Promise.all([promoted, usedAgain(site!, others)]) }
  })
  console.info('cluster', { hasTls, promotedMs, ...outcome })
  expect(outcome.repeats).toBe(0)
  expect(outcome.usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  const output = [site.api, ...workers].map(running => running.output()).join('')
  expect(output).not.toContain(PASSWORD)
})

test.each([
  ['is killed', (server: { kill(): Promise<void> }) => server.kill()],
  ['hangs', async (server: { freeze(): void }) => server.freeze()],
])('the node with the keys %s while batches are announced: those of every kind are received again', async (name, hurt) => {
  cluster = await startCluster()
  const { servers, env } = cluster
  queue = await queueOf(env, '{perennial-test}')
  const allReceived = await listenTo(queue, KINDS)
  await allReceived()
  const victim = await serverInUse(servers)
  const began = performance.now()
  await hurt(victim)
  const [promotedMs] = await Promise.all([promotion(servers.filter(server => server !== victim)), allReceived()])
  const usedAgainMs = Math.round(performance.now() - began)
  console.info('cluster', { name, promotedMs, usedAgainMs })
  expect(usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  // Back from where it was, it finds that it is a replica now.
  if (name === 'hangs') victim.thaw()
  else await victim.start()
  await until('a replica', async () => (await victim.execute('INFO replication')).includes('role:slave') || undefined)
  await allReceived()
})

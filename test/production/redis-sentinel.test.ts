import { afterEach, expect, test, vi } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import { evenLoad } from '../harness/even-load.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import type { QueueServers } from '../harness/redis.ts'
import { PASSWORD, SENTINEL_PASSWORD } from '../harness/redis-rights.ts'
import { startSentinels } from '../harness/redis-sentinels.ts'
import { listenTo, promotion, queueOf, serverInUse, usedAgain } from '../harness/redis-use.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 540_000 })

/** No worker dies, and none may seem to be dead on a machine that has other work: its jobs would be done again. */
const LEASE_SECONDS = 60
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 60_000
const KINDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

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
  const { servers, env } = sentinels
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS, env: { ...env, LOG_LEVEL: 'warn' } })
  const workers = await Promise.all([site.worker(), site.worker()])
  const [primary, ...replicas] = servers
  let promotedMs: number | undefined
  const outcome = await evenLoad(site, async () => {
    expect(await serverInUse(servers)).toBe(primary)
    await primary!.kill()
    const promoted = promotion(replicas).then(ms => {
      promotedMs = ms
    })
    return { whenUsed: Promise.all([promoted, usedAgain(site!, replicas)]) }
  })
  console.info('sentinel', { hasTls, promotedMs, ...outcome })
  expect(outcome.repeats).toBe(0)
  expect(outcome.usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  // The former primary comes back and becomes a replica.
  await primary!.start()
  await until('a replica', async () => (await primary!.execute('INFO replication')).includes('role:slave') || undefined)
  const output = [site.api, ...workers].map(running => running.output()).join('')
  for (const secret of [PASSWORD, SENTINEL_PASSWORD]) expect(output).not.toContain(secret)
})

test('the primary hangs while batches are announced: those of every kind are received again', async () => {
  sentinels = await startSentinels()
  const { servers, env } = sentinels
  const [primary, ...replicas] = servers
  queue = await queueOf(env, 'perennial-test')
  const allReceived = await listenTo(queue, KINDS)
  await allReceived()
  const began = performance.now()
  primary!.freeze()
  const [promotedMs] = await Promise.all([promotion(replicas), allReceived()])
  const usedAgainMs = Math.round(performance.now() - began)
  console.info('sentinel', { name: 'hangs', promotedMs, usedAgainMs })
  expect(usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  primary!.thaw()
  await until('a replica', async () => (await primary!.execute('INFO replication')).includes('role:slave') || undefined)
  await allReceived()
})

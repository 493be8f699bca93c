import { expect } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import { evenLoad } from './even-load.ts'
import { type Installation, startInstallation } from './installation.ts'
import type { QueueServers, TestRedis } from './redis.ts'
import { PASSWORD } from './redis-rights.ts'
import { listenTo, promotion, serverInUse, usedAgain } from './redis-use.ts'
import { until } from './until.ts'

/** No worker dies, and none may seem to be dead on a machine that has other work: its jobs would be done again. */
const LEASE_SECONDS = 60
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 60_000
const KINDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

/** An API whose queue is on these servers. */
export const serviceOn = ({ env }: QueueServers): Promise<Installation> =>
  startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS, env: { ...env, LOG_LEVEL: 'warn' } })

/**
 * Starts two workers, and kills the server with the keys while events arrive at an even pace. Every event has had its effects then, once, another server is used, and no log
 * has a password (`secrets`: further ones). Resolves to the killed server.
 */
export async function failoverUnderLoad({ servers }: QueueServers, site: Installation, secrets: string[] = []): Promise<TestRedis> {
  const workers = await Promise.all([site.worker(), site.worker()])
  const victim = await serverInUse(servers)
  const others = servers.filter(server => server !== victim)
  let promotedMs: number | undefined
  const outcome = await evenLoad(site, async () => {
    await victim.kill()
    const promoted = promotion(others).then(ms => {
      promotedMs = ms
    })
    return { whenUsed: Promise.all([promoted, usedAgain(site, others)]) }
  })
  console.info('killed under load', { promotedMs, ...outcome })
  expect(outcome.repeats).toBe(0)
  expect(outcome.usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  const output = [site.api, ...workers].map(running => running.output()).join('')
  for (const secret of [PASSWORD, ...secrets]) expect(output).not.toContain(secret)
  return victim
}

/**
 * Hurts the server with the keys while batches are announced: those of every kind are received again, also after it has come back (`heal`) and has
 * become a replica.
 */
export async function failoverOfQueue(
  { servers }: QueueServers,
  queue: Queue,
  { hurt, heal }: { hurt: (server: TestRedis) => unknown; heal: (server: TestRedis) => unknown },
): Promise<void> {
  const allReceived = await listenTo(queue, KINDS)
  await allReceived()
  const victim = await serverInUse(servers)
  const began = performance.now()
  await hurt(victim)
  const [promotedMs] = await Promise.all([promotion(servers.filter(server => server !== victim)), allReceived()])
  const usedAgainMs = Math.round(performance.now() - began)
  console.info('hurt under announcements', { promotedMs, usedAgainMs })
  expect(usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  await heal(victim)
  await becomesReplica(victim)
  await allReceived()
}

/** Back from where it was, a former primary finds that it is a replica now. */
export const becomesReplica = (server: TestRedis): Promise<true> =>
  until('a replica', async () => (await server.execute('INFO replication')).includes('role:slave') || undefined)

export const KILLED = { hurt: (server: TestRedis) => server.kill(), heal: (server: TestRedis) => server.start() }
export const HUNG = { hurt: (server: TestRedis) => server.freeze(), heal: (server: TestRedis) => server.thaw() }

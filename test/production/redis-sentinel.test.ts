import { afterEach, expect, test, vi } from 'vitest'
import { evenLoad } from '../harness/even-load.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { MASTER_NAME, PASSWORD, SENTINEL_PASSWORD, type Sentinels, startSentinels, USER } from '../harness/redis-sentinels.ts'
import { calls, usedAgain } from '../harness/redis-use.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 540_000 })

/** No worker dies, and none should seem to be dead on a machine that has other work: its jobs would be done again. */
const LEASE_SECONDS = 30
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 60_000

let sentinels: Sentinels | undefined
let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  await sentinels?.end()
})

test('the primary is killed under load: nothing lost, nothing twice, and the queue is used again soon', async () => {
  sentinels = await startSentinels()
  const { servers } = sentinels
  const env = {
    REDIS_SENTINELS: sentinels.sentinels,
    REDIS_MASTER_NAME: MASTER_NAME,
    REDIS_USERNAME: USER,
    REDIS_PASSWORD: PASSWORD,
    REDIS_SENTINEL_USERNAME: USER,
    REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
    LOG_LEVEL: 'warn',
  }
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS, env })
  const workers = await Promise.all([site.worker(), site.worker()])
  const [primary, ...replicas] = servers
  const outcome = await evenLoad(site, async () => {
    expect(await calls(primary!, 'bzpopmin')).toBeGreaterThan(0)
    await primary!.kill()
    return { whenUsed: usedAgain(site!, replicas) }
  })
  console.info('sentinel', outcome)
  expect(outcome.usedAgainMs).toBeLessThan(USED_AGAIN_MS)
  // The former primary comes back and becomes a replica.
  await primary!.start()
  await until('a replica', async () => (await primary!.execute('INFO replication')).includes('role:slave') || undefined, 30_000)
  const output = [site.api, ...workers].map(running => running.output()).join('')
  for (const secret of [PASSWORD, SENTINEL_PASSWORD]) expect(output).not.toContain(secret)
})

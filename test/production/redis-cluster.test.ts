import { afterEach, expect, test, vi } from 'vitest'
import { evenLoad, repeats } from '../harness/even-load.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { type RedisCluster, startCluster } from '../harness/redis-cluster.ts'
import { calls, usedAgain } from '../harness/redis-use.ts'

vi.setConfig({ testTimeout: 300_000 })

/** No worker dies, and none must seem to be dead on a machine that has other work: its jobs would be done again. */
const LEASE_SECONDS = 60
/** Ten seconds where the processors are free. */
const USED_AGAIN_MS = 20_000

let cluster: RedisCluster | undefined
let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  await cluster?.end()
})

const bulks = (answer: string) => answer.split('\r\n').filter(line => line !== '' && !/^[*$:]/.test(line))
test('the primary with the keys is killed under load: nothing lost, nothing twice, and the queue is used again soon', async () => {
  cluster = await startCluster()
  const { servers, nodes } = cluster
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS, env: { REDIS_CLUSTER: nodes } })
  await Promise.all([site.worker(), site.worker()])
  const outcome = await evenLoad(site, async () => {
    const roles = await Promise.all(servers.map(server => server.execute('ROLE')))
    const primaries = servers.filter((_, n) => bulks(roles[n]!)[0] === 'master')
    const counts = await Promise.all(primaries.map(server => calls(server, 'bzpopmin')))
    // All keys of an installation are on one node.
    expect(counts.filter(count => count > 0)).toHaveLength(1)
    const victim = primaries[counts.findIndex(count => count > 0)]!
    await victim.kill()
    return {
      whenUsed: usedAgain(
        site!,
        servers.filter(server => !primaries.includes(server)),
      ),
    }
  })
  console.info('cluster', outcome)
  expect(repeats(site)).toBe(0)
  expect(outcome.usedAgainMs).toBeLessThan(USED_AGAIN_MS)
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startRedis, type TestRedis } from './redis.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const NODES = 6
const NODE_TIMEOUT_MS = 3_000

/** `nodes`: as in REDIS_CLUSTER. */
export type RedisCluster = { servers: TestRedis[]; nodes: string; end(): Promise<void> }

/** Three primaries with a replica each. */
export async function startCluster(): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)]
  const servers = await Promise.all(Array.from({ length: NODES }, () => startRedis({ args })))
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`)
  await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'])
  await until('a cluster with all of its replicas in step', async () => {
    const states = await Promise.all(servers.map(server => server.execute('INFO replication')))
    const isWhole = (await Promise.all(servers.map(server => server.execute('CLUSTER INFO')))).every(text =>
      text.includes('cluster_state:ok'),
    )
    const inStep = states.filter(state => state.includes('master_link_status:up')).length
    return (isWhole && inStep === NODES / 2) || undefined
  })
  return {
    servers,
    nodes: addresses.join(','),
    async end() {
      for (const server of servers) await server.end()
    },
  }
}

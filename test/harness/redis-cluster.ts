import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, type QueueServers, startRedis } from './redis.ts'
import { LOGIN_ARGUMENTS, PASSWORD, USER } from './redis-rights.ts'
import { tlsAuthority } from './redis-tls.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const NODES = 6
const NODE_TIMEOUT_MS = 3_000

/** Three primaries with a replica each. `hasTls`: all of them speak TLS alone, also with each other. */
export async function startCluster({ hasTls = false } = {}): Promise<QueueServers> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-cluster-'))
  const authority = hasTls ? await tlsAuthority(folder) : undefined
  const nodes = await Promise.all(
    Array.from({ length: NODES }, async () => {
      // By default ten thousand above the other port, which is more than there are.
      const bus = await freePort()
      const settings = ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-node-timeout', String(NODE_TIMEOUT_MS)]
      return { bus, server: await startRedis({ args: [...LOGIN_ARGUMENTS, ...settings], password: PASSWORD, hasTls }) }
    }),
  )
  const servers = nodes.map(({ server }) => server)
  const tls = authority ? ['--tls', '--cacert', authority.REDIS_CA_FILE] : []
  const addresses = nodes.map(({ server, bus }) => `127.0.0.1:${server.port}@${bus}`)
  const login = ['-a', PASSWORD, '--no-auth-warning']
  await run('redis-cli', [...tls, ...login, '--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'])
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
    env: {
      REDIS_CLUSTER: servers.map(({ port }) => `127.0.0.1:${port}`).join(','),
      REDIS_USERNAME: USER,
      REDIS_PASSWORD: PASSWORD,
      ...authority,
    },
    async end() {
      for (const server of servers) await server.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

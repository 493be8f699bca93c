import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type QueueServers, redisCommand, startRedis } from './redis.ts'
import { LOGIN_ARGUMENTS, PASSWORD, SENTINEL_PASSWORD, SENTINEL_RIGHTS, USER } from './redis-rights.ts'
import { plainSettings, tlsAuthority, tlsSettings } from './redis-tls.ts'
import { until } from './until.ts'

const MASTER_NAME = 'queues'
const QUORUM = 2
const DOWN_AFTER_MS = 1_000

/**
 * A primary with two replicas, and three sentinels that take a second of silence for its end. The primary is the first of the `servers`.
 * `hasTls`: all of them speak TLS alone.
 */
export async function startSentinels({ hasTls = false } = {}): Promise<QueueServers> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-sentinels-'))
  const options = { password: PASSWORD, hasTls }
  const primary = await startRedis({ ...options, args: LOGIN_ARGUMENTS })
  const follow = [...LOGIN_ARGUMENTS, '--replicaof', `127.0.0.1 ${primary.port}`]
  const replicas = await Promise.all([0, 1].map(() => startRedis({ ...options, args: follow })))
  const servers = [primary, ...replicas]
  await until('two replicas in step', async () => {
    const states = await Promise.all(replicas.map(replica => replica.execute('INFO replication')))
    return states.every(state => state.includes('master_link_status:up')) || undefined
  })
  const ports: number[] = []
  const children: ChildProcess[] = []
  for (let n = 0; n < 3; n++) {
    const port = await freePort()
    const own = join(folder, String(n))
    await mkdir(own)
    const lines = [
      ...(hasTls ? await tlsSettings(own, port) : plainSettings(port)).map(setting => setting.join(' ')),
      'bind 127.0.0.1',
      `dir ${own}`,
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${primary.port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
      `sentinel auth-pass ${MASTER_NAME} ${PASSWORD}`,
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
      `user ${USER} on >${SENTINEL_PASSWORD} ${SENTINEL_RIGHTS}`,
    ]
    const config = join(own, 'sentinel.conf')
    await writeFile(config, `${lines.join('\n')}\n`)
    children.push(spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' }))
    ports.push(port)
  }
  const ended = children.map(child => once(child, 'exit'))
  await until('sentinels that know each other and the replicas', async () => {
    const known = await Promise.all(
      ports.map(port => redisCommand({ port, password: SENTINEL_PASSWORD, hasTls }, `SENTINEL MASTER ${MASTER_NAME}`).catch(() => '')),
    )
    return known.every(text => /num-slaves\s+\$1\s+2\b/.test(text) && /num-other-sentinels\s+\$1\s+2\b/.test(text)) || undefined
  })
  return {
    servers,
    env: {
      REDIS_SENTINELS: ports.map(port => `127.0.0.1:${port}`).join(','),
      REDIS_MASTER_NAME: MASTER_NAME,
      REDIS_USERNAME: USER,
      REDIS_PASSWORD: PASSWORD,
      REDIS_SENTINEL_USERNAME: USER,
      REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
      ...(hasTls && (await tlsAuthority(folder))),
    },
    async end() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(ended)
      for (const server of servers) await server.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, redisCommand, startRedis, type TestRedis } from './redis.ts'
import { QUEUE_RIGHTS, SENTINEL_RIGHTS } from './redis-rights.ts'
import { until } from './until.ts'

export const MASTER_NAME = 'queues'
export const PASSWORD = 'a-password-of-redis'
export const SENTINEL_PASSWORD = 'a-password-of-the-sentinels'
/** The login of the service, on the servers and on the sentinels, with the rights of the guide. */
export const USER = 'perennial'

/** `servers`: the primary of the start, then its replicas. `sentinels`: as in REDIS_SENTINELS. */
export type Sentinels = { servers: TestRedis[]; sentinels: string; end(): Promise<void> }

const QUORUM = 2
const DOWN_AFTER_MS = 1_000

/** A primary with two replicas, and three sentinels that take a second of silence for its end. */
export async function startSentinels(): Promise<Sentinels> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-sentinels-'))
  const user = ['--user', USER, 'on', `>${PASSWORD}`, ...QUEUE_RIGHTS.split(' ')]
  const login = ['--requirepass', PASSWORD, '--masterauth', PASSWORD, ...user]
  const primary = await startRedis({ args: login, password: PASSWORD })
  const follow = [...login, '--replicaof', `127.0.0.1 ${primary.port}`]
  const replicas = await Promise.all([0, 1].map(() => startRedis({ args: follow, password: PASSWORD })))
  const servers = [primary, ...replicas]
  await until('two replicas in step', async () => {
    const states = await Promise.all(replicas.map(replica => replica.execute('INFO replication')))
    return states.every(state => state.includes('master_link_status:up')) || undefined
  })
  const ports: number[] = []
  const children: ChildProcess[] = []
  for (let n = 0; n < 3; n++) {
    const port = await freePort()
    const config = join(folder, `sentinel-${n}.conf`)
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${primary.port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
      `sentinel auth-pass ${MASTER_NAME} ${PASSWORD}`,
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
      `user ${USER} on >${SENTINEL_PASSWORD} ${SENTINEL_RIGHTS}`,
    ]
    await writeFile(config, `${lines.join('\n')}\n`)
    children.push(spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' }))
    ports.push(port)
  }
  const ended = children.map(child => once(child, 'exit'))
  const asked = (port: number, command: string) => redisCommand(port, SENTINEL_PASSWORD, command)
  await until('sentinels that know each other and the replicas', async () => {
    const known = await Promise.all(ports.map(port => asked(port, `SENTINEL MASTER ${MASTER_NAME}`).catch(() => '')))
    return known.every(text => /num-slaves\s+\$1\s+2\b/.test(text) && /num-other-sentinels\s+\$1\s+2\b/.test(text)) || undefined
  })
  return {
    servers,
    sentinels: ports.map(port => `127.0.0.1:${port}`).join(','),
    async end() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(ended)
      for (const server of servers) await server.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

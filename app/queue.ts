import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { QueueMetrics } from '../api/metrics.ts'
import { databaseNameIn } from '../store/address.ts'
import type { Queue } from '../workers/queue.ts'
import type { RedisServer } from '../workers/redis.ts'
import type { Config } from './config.ts'
import type { Resources } from './resources.ts'

/** Where the operator sees the queues of BullMQ. */
export const QUEUES_PAGE = '/operator/queues'

/** Several installations may share one Redis, so each has its own prefix of keys. In a cluster the braces keep its keys on one node. */
export function redisPrefix(redis: RedisServer, { url, secrets }: Pick<Resources, 'url' | 'secrets'>): string {
  const installation = createHash('sha256').update(`${secrets.fingerprint} ${databaseNameIn(url)}`)
  const prefix = `perennial-${installation.digest('hex').slice(0, 12)}`
  return redis.is === 'cluster' ? `{${prefix}}` : prefix
}

/** Logs only the message of a failure: the error of a refused login contains the password. */
const reasonOf = (error: unknown) => {
  const { message, code } = error as { message?: string; code?: string }
  return { why: message || code }
}

export const warnOfRedis = (log: Logger) => ({
  onError: (error: unknown) => log.warn(reasonOf(error), 'Redis does not work: continuing without it'),
  onFailure: (error: unknown) => log.warn(reasonOf(error), 'Redis works, but something sent to it has failed'),
})

function onPolicy(log: Logger) {
  return (policy: string, keepsAll: boolean) => {
    if (keepsAll) log.info({ policy }, 'Redis evicts no more messages')
    else
      log.warn(
        { policy },
        'Redis evicts messages when its memory is full, and jobs are dispatched late: set maxmemory-policy to noeviction',
      )
  }
}

/** Opens the configured driver. The other driver is not loaded. `onRedis`: the driver is on Redis. */
export async function openQueue(
  { redis }: Config,
  log: Logger,
  resources: Resources,
  onRedis: QueueMetrics['watchRedis'] = () => {},
): Promise<Queue> {
  if (redis) {
    const { bullmqQueue } = await import('../workers/bullmq.ts')
    const queue = await bullmqQueue({
      redis,
      prefix: redisPrefix(redis, resources),
      ...warnOfRedis(log),
      onUp: () => log.info('Redis works again'),
      onPolicy: onPolicy(log),
    })
    onRedis(queue.state)
    return queue
  }
  const { pgBossQueue } = await import('../workers/pg-boss.ts')
  return pgBossQueue({ url: resources.url, onError: error => log.warn({ err: error }, 'pg-boss') })
}

/** The driver and its address for the operator, without the password. */
export function queueLine({ redis }: Pick<Config, 'redis'>): string {
  if (redis === undefined) return 'pg-boss on Postgres'
  if (redis.is === 'one') return `BullMQ on Redis, ${new URL(redis.url).host}`
  const hosts = redis.hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
  return redis.is === 'cluster' ? `BullMQ on a Redis cluster, ${hosts}` : `BullMQ on Redis, ${redis.master} of the sentinels ${hosts}`
}

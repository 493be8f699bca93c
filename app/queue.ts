import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { QueueMetrics } from '../api/metrics.ts'
import type { Queue } from '../workers/queue.ts'
import type { Config } from './config.ts'
import type { Resources } from './resources.ts'

/** Where the operator sees the queues of BullMQ. */
export const QUEUES_PAGE = '/operator/queues'

/** Several installations may share one Redis, so each has its own prefix of keys. */
export function redisPrefix({ url, secrets }: Pick<Resources, 'url' | 'secrets'>): string {
  const installation = createHash('sha256').update(`${secrets.fingerprint} ${new URL(url).pathname}`)
  return `perennial-${installation.digest('hex').slice(0, 12)}`
}

/** Logs only the message of a failure: the error of a refused login contains the password. */
export const warnOfRedis = (log: Logger) => (error: unknown) => {
  const { message, code } = error as { message?: string; code?: string }
  log.warn({ why: message || code }, 'Redis does not work: continuing without it')
}

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
  { redisUrl }: Config,
  log: Logger,
  resources: Resources,
  onRedis: QueueMetrics['watchRedis'] = () => {},
): Promise<Queue> {
  if (redisUrl) {
    const { bullmqQueue } = await import('../workers/bullmq.ts')
    const queue = await bullmqQueue({
      url: redisUrl,
      prefix: redisPrefix(resources),
      onError: warnOfRedis(log),
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
export const queueLine = ({ redisUrl }: Config): string => (redisUrl ? `BullMQ on Redis, ${new URL(redisUrl).host}` : 'pg-boss on Postgres')

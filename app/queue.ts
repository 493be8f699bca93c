import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
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

/** Opens the configured driver. The other driver is not loaded. */
export async function openQueue({ redisUrl }: Config, log: Logger, resources: Resources): Promise<Queue> {
  if (redisUrl) {
    const { bullmqQueue } = await import('../workers/bullmq.ts')
    return bullmqQueue({ url: redisUrl, prefix: redisPrefix(resources), onError: warnOfRedis(log) })
  }
  const { pgBossQueue } = await import('../workers/pg-boss.ts')
  return pgBossQueue({ url: resources.url, onError: error => log.warn({ err: error }, 'pg-boss') })
}

/** The driver and its address for the operator, without the password. */
export const queueLine = ({ redisUrl }: Config): string => (redisUrl ? `BullMQ on Redis, ${new URL(redisUrl).host}` : 'pg-boss on Postgres')

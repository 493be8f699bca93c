import { afterAll, beforeAll } from 'vitest'
import { bullmqQueue } from '../../workers/bullmq.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import type { Queue } from '../../workers/queue.ts'
import { startRedis, type TestRedis } from './redis.ts'

let redis: TestRedis | undefined

/** From here on the queues of this test file use BullMQ on a Redis of their own. */
export function useBullmq(): () => TestRedis {
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(async () => {
    await redis?.end()
    redis = undefined
  })
  return () => redis!
}

/** A queue of the installation on that database: over pg-boss, unless the file has chosen BullMQ. */
export const testQueue = (databaseUrl: string): Promise<Queue> =>
  redis
    ? bullmqQueue({ redis: { is: 'one', url: redis.url }, prefix: new URL(databaseUrl).pathname.slice(1), onError: () => {} })
    : pgBossQueue({ url: databaseUrl, onError: () => {} })

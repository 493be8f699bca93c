import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { KoaAdapter } from '@bull-board/koa'
import { Queue } from 'bullmq'
import type Koa from 'koa'
import { kindsKey, queueName, SHARED } from './bullmq.ts'
import { outageReason, promptConnection, type RedisServer, settled } from './redis.ts'
import { type RedisNews, watchRedis } from './redis-watch.ts'

export type BullBoardOptions = Pick<RedisNews, 'onError' | 'onFailure'> & { redis: RedisServer; prefix: string; at: string }

export type BullBoard = { show: Koa.Middleware; close(): Promise<void> }

/**
 * Shows the queues of the installation under the address `at`, read-only: there is nothing to retry by hand, because the sweep dispatches
 * again by itself.
 */
export async function bullBoard({ redis, prefix, at, ...news }: BullBoardOptions): Promise<BullBoard> {
  const key = kindsKey(prefix)
  const connection = promptConnection(redis, key)
  const watch = watchRedis(connection, [connection], { ...news, key, explain: error => outageReason(redis, error) })
  const queues = new Map<string, Queue>()
  const adapter = new KoaAdapter()
  adapter.setBasePath(at)
  const board = createBullBoard({ queues: [], serverAdapter: adapter, options: { uiConfig: { boardTitle: 'Perennial' } } })
  const middleware = adapter.registerPlugin() as unknown as Koa.Middleware

  /** Adds the kinds that workers listen to. While Redis is down the page stays as it was. */
  async function addNewQueues(): Promise<void> {
    const kinds = await connection.smembers(key).catch(() => [])
    for (const kind of kinds.sort()) {
      if (queues.has(kind)) continue
      const queue = new Queue(queueName(kind), { ...SHARED, prefix, connection, skipWaitingForReady: true, skipMetasUpdate: true })
      queue.on('error', () => {})
      queues.set(kind, queue)
      board.addQueue(new BullMQAdapter(queue, { readOnlyMode: true, displayName: kind }))
    }
  }

  await settled(connection)
  watch.begin()
  return {
    async show(ctx, next) {
      await addNewQueues()
      await middleware(ctx, next)
    },
    async close() {
      await watch.stop()
      await Promise.all([...queues.values()].map(queue => queue.close()))
      connection.disconnect()
    },
  }
}

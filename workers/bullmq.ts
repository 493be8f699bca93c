import { setTimeout as pause } from 'node:timers/promises'
import { Queue as Bull, Worker } from 'bullmq'
import type { Batch } from '../domain/durable/jobs/sweep.ts'
import { batchIn, type Queue } from './queue.ts'
import { outageReason, patientConnection, promptConnection, type RedisServer, settled, WAIT_SECONDS } from './redis.ts'
import { type RedisNews, type RedisState, watchRedis } from './redis-watch.ts'

/**
 * `prefix`: of all keys; the same for all processes of an installation, and for no other installation. In a cluster it is in braces, so that
 * all keys are on one node: the scripts of BullMQ use several of them at once.
 */
export type BullmqOptions = RedisNews & { redis: RedisServer; prefix?: string; watchMs?: number }

export type BullmqQueue = Queue & { state(): RedisState }

/** How long a stop waits for messages that are being handled. */
const CLOSE_MS = 2_000
/** An older message is useless: the sweep has dispatched its jobs again, several times. */
const USEFUL_MS = 60_000
const TRIM_PERIOD_MS = 30_000
const TRIM_LIMIT = 1_000
/** Messages of one kind that a process handles at a time: several, because one may wait for capacity; few, because a full process should not hoard. */
const CONCURRENCY = 8

export const queueName = (kind: string): string => `batches-${kind}`
/** The key of the set of kinds that workers listen to. */
export const kindsKey = (prefix: string): string => `${prefix}:kinds`
/** Options of all queues and workers. The version of Redis is not checked: the check would wait for Redis. */
export const SHARED = { prefix: 'perennial', skipVersionCheck: true }

/**
 * The queue over BullMQ on Redis. Redis may be down, at the start or later: an announcement then fails at once, and everything works again
 * when Redis is back.
 */
export async function bullmqQueue({ redis, prefix = SHARED.prefix, watchMs, ...news }: BullmqOptions): Promise<BullmqQueue> {
  const shared = { ...SHARED, prefix }
  const key = kindsKey(prefix)
  const announcing = promptConnection(redis, key)
  const listening = patientConnection(redis, key)
  const queues = new Map<string, { queue: Bull<Batch>; trimmedAt: number }>()
  const workers: Worker[] = []
  const watch = watchRedis(announcing, [announcing, listening.connection], {
    ...news,
    key,
    periodMs: watchMs,
    explain: error => outageReason(redis, error),
  })

  const queueOf = (kind: string) => {
    const known = queues.get(kind)
    if (known) return known
    const queue = new Bull<Batch>(queueName(kind), {
      ...shared,
      connection: announcing,
      skipWaitingForReady: true,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    })
    queue.on('error', error => watch.failed(error))
    const added = { queue, trimmedAt: Number.NEGATIVE_INFINITY }
    queues.set(kind, added)
    return added
  }

  /** Only the operator's page reads it. It is written again now and then, in case Redis has lost it. */
  const storeKind = (kind: string) => void announcing.sadd(key, kind).catch(() => {})

  /**
   * While all workers are full for a long time the same jobs are dispatched again and again. An announcement removes the old messages of
   * all processes.
   */
  const trim = (kind: string) => {
    const known = queueOf(kind)
    if (performance.now() - known.trimmedAt < TRIM_PERIOD_MS) return
    known.trimmedAt = performance.now()
    known.queue.clean(USEFUL_MS, TRIM_LIMIT, 'wait').catch(() => {})
    storeKind(kind)
  }

  await settled(announcing)
  watch.begin()

  return {
    state: watch.state,
    async announce(kind, batches) {
      if (announcing.status !== 'ready') throw new Error('Redis is not connected')
      const { queue } = queueOf(kind)
      const added = await Promise.allSettled(batches.map(({ number, count }) => queue.add(kind, { number, count })))
      const failed = added.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
      // Only the message: the error of a command contains everything that was sent, too much for a log.
      if (failed) throw new Error(`Redis: ${failed.reason?.message}`)
      trim(kind)
    },

    async listen(kind, onBatch) {
      const handle = async (data: unknown) => {
        const batch = batchIn(data)
        if (batch) await onBatch(batch)
      }
      const worker = new Worker(queueName(kind), message => handle(message.data), {
        ...shared,
        connection: listening.connection,
        concurrency: CONCURRENCY,
        drainDelay: WAIT_SECONDS,
        // BullMQ does not repeat the messages that a killed process was handling: the sweep dispatches their jobs again.
        maxStalledCount: 0,
        runRetryDelay: 1_000,
      })
      worker.on('error', error => watch.failed(error))
      workers.push(worker)
      storeKind(kind)
    },

    async close() {
      await watch.stop()
      // Without Redis there is nothing to finish, and no answer would come.
      const isForced = listening.connection.status !== 'ready'
      const closed = Promise.allSettled([
        ...workers.map(worker => worker.close(isForced)),
        ...[...queues.values()].map(({ queue }) => queue.close()),
      ])
      await Promise.race([closed, pause(CLOSE_MS, undefined, { ref: false })])
      listening.close()
      announcing.disconnect()
    },
  }
}

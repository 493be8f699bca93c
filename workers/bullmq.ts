import { setTimeout as pause } from 'node:timers/promises'
import { Queue as Bull, Worker } from 'bullmq'
import type { Batch } from '../domain/jobs/sweep.ts'
import { batchIn, type Queue } from './queue.ts'
import { patientConnection, promptConnection, settled, toldOnce } from './redis.ts'

/** `prefix`: what all keys begin with; the same for all processes of an installation, and for them alone. */
export type BullmqOptions = { url: string; prefix?: string; onError: (error: unknown) => void }

/** How long a stop waits for rings that are being heard. */
const CLOSE_MS = 2_000
/** After that a ring is worth nothing: the sweep has rung again, several times. */
const WORTH_MS = 60_000
const TRIM_PERIOD_MS = 30_000
const TRIM_AT_ONCE = 1_000
/** Rings of one kind under way in this process. One that waits for free slots must not hold up the next; a full process should not hoard. */
const AT_ONCE = 8

/** What all objects on the queues of one installation share. Versions are not asked for: that would wait for Redis. */
export const queueName = (kind: string): string => `batches-${kind}`
/** Where the kinds are kept that workers listen to. */
export const kindsKey = (prefix: string): string => `${prefix}:kinds`
export const SHARED = { prefix: 'perennial', skipVersionCheck: true }

/**
 * Rings over BullMQ on Redis. Redis may be away, at the start or later: a ring then fails at once, and everything works again when it
 * is back.
 */
export async function bullmqQueue({ url, prefix = SHARED.prefix, onError }: BullmqOptions): Promise<Queue> {
  const shared = { ...SHARED, prefix }
  const ringing = promptConnection(url)
  const hearing = patientConnection(url)
  const queues = new Map<string, { queue: Bull<Batch>; trimmedAt: number }>()
  const workers: Worker[] = []

  const tell = toldOnce([ringing, hearing.connection], onError)

  const queueOf = (kind: string) => {
    const known = queues.get(kind)
    if (known) return known
    const queue = new Bull<Batch>(queueName(kind), {
      ...shared,
      connection: ringing,
      skipWaitingForReady: true,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    })
    queue.on('error', tell)
    const made = { queue, trimmedAt: Number.NEGATIVE_INFINITY }
    queues.set(kind, made)
    return made
  }

  /** For the operator's page alone; said again now and then, in case Redis has forgotten it. */
  const note = (kind: string) => void ringing.sadd(kindsKey(prefix), kind).catch(() => {})

  /** While all slots are taken for long the same rows are rung again and again. Whoever rings removes old rings of everybody. */
  const trim = (kind: string) => {
    const place = queueOf(kind)
    if (performance.now() - place.trimmedAt < TRIM_PERIOD_MS) return
    place.trimmedAt = performance.now()
    place.queue.clean(WORTH_MS, TRIM_AT_ONCE, 'wait').catch(() => {})
    note(kind)
  }

  await settled(ringing)

  return {
    async announce(kind, rings) {
      if (ringing.status !== 'ready') throw new Error('Redis is not connected')
      const { queue } = queueOf(kind)
      const added = await Promise.allSettled(rings.map(({ number, count }) => queue.add(kind, { number, count })))
      const failed = added.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
      // The error of a command has all that was sent in it: too much for a log.
      if (failed) throw new Error(`Redis: ${failed.reason?.message}`)
      trim(kind)
    },

    async listen(kind, onRing) {
      const hear = async (data: unknown) => {
        const ring = batchIn(data)
        if (ring) await onRing(ring)
      }
      const worker = new Worker(queueName(kind), job => hear(job.data), {
        ...shared,
        connection: hearing.connection,
        concurrency: AT_ONCE,
        // What a killed process had in its hands is not rung again by BullMQ: the sweep has done that already.
        maxStalledCount: 0,
        runRetryDelay: 1_000,
      })
      worker.on('error', tell)
      workers.push(worker)
      note(kind)
    },

    async close() {
      // Without Redis there is nothing to be told to it, and nothing would answer.
      const isForced = hearing.connection.status !== 'ready'
      const closed = Promise.allSettled([
        ...workers.map(worker => worker.close(isForced)),
        ...[...queues.values()].map(({ queue }) => queue.close()),
      ])
      await Promise.race([closed, pause(CLOSE_MS, undefined, { ref: false })])
      hearing.close()
      ringing.disconnect()
    },
  }
}

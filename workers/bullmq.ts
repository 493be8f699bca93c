import { setTimeout as pause } from 'node:timers/promises'
import { Queue as Bull, Worker } from 'bullmq'
import { type Queue, RING_SIZE } from './queue.ts'
import { patientConnection, promptConnection } from './redis.ts'

/** `prefix`: what all keys begin with; the same for all processes of an installation, and for them alone. */
export type BullmqOptions = { url: string; prefix?: string; onError: (error: unknown) => void }

type Data = { ids: number[] }

/** How long a start waits for Redis before it goes on without it. */
const START_MS = 1_000
/** How long a stop waits for rings that are being heard. */
const CLOSE_MS = 2_000
/** After that a ring is worth nothing: the sweep has rung again, several times. */
const WORTH_MS = 60_000
const TRIM_PERIOD_MS = 30_000
const TRIM_AT_ONCE = 1_000
/** Rings of one kind under way in this process. One that waits for free slots must not hold up the next; a full process should not hoard. */
const AT_ONCE = 8

/** What all objects on the queues of one installation share. Versions are not asked for: that would wait for Redis. */
export const queueName = (kind: string): string => `rings-${kind}`
export const SHARED = { prefix: 'perennial', skipVersionCheck: true }

/**
 * Rings over BullMQ on Redis. Redis may be away, at the start or later: a ring then fails at once, and everything works again when it
 * is back.
 */
export async function bullmqQueue({ url, prefix = SHARED.prefix, onError }: BullmqOptions): Promise<Queue> {
  const shared = { ...SHARED, prefix }
  const ringing = promptConnection(url)
  const hearing = patientConnection(url)
  const queues = new Map<string, { queue: Bull<Data>; trimmedAt: number }>()
  const workers: Worker<Data>[] = []

  // Each connection tries again every second: an outage is told once.
  let told: string | undefined
  const tell = (error: Error) => {
    const what = `${error.name} ${error.message}`
    if (what !== told) onError(error)
    told = what
  }
  for (const connection of [ringing, hearing.connection]) {
    connection.on('error', tell)
    connection.on('ready', () => {
      told = undefined
    })
  }

  const queueOf = (kind: string) => {
    const known = queues.get(kind)
    if (known) return known
    const queue = new Bull<Data>(queueName(kind), {
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

  /** While all slots are taken for long the same rows are rung again and again. Whoever rings removes old rings of everybody. */
  const trim = (kind: string) => {
    const place = queueOf(kind)
    if (performance.now() - place.trimmedAt < TRIM_PERIOD_MS) return
    place.trimmedAt = performance.now()
    place.queue.clean(WORTH_MS, TRIM_AT_ONCE, 'wait').catch(() => {})
  }

  await Promise.race([new Promise(resolve => ringing.once('ready', resolve).once('error', resolve)), pause(START_MS)])

  return {
    async ring(kind, ids) {
      if (ringing.status !== 'ready') throw new Error('Redis is not connected')
      const { queue } = queueOf(kind)
      const rings: Promise<unknown>[] = []
      for (let i = 0; i < ids.length; i += RING_SIZE) rings.push(queue.add(kind, { ids: ids.slice(i, i + RING_SIZE) }))
      const failed = (await Promise.allSettled(rings)).find(ring => ring.status === 'rejected')
      if (failed) throw failed.reason
      trim(kind)
    },

    async listen(kind, onRing) {
      const worker = new Worker<Data>(queueName(kind), job => onRing(job.data.ids), {
        ...shared,
        connection: hearing.connection,
        concurrency: AT_ONCE,
        // What a killed process had in its hands is not rung again by BullMQ: the sweep has done that already.
        maxStalledCount: 0,
        runRetryDelay: 1_000,
      })
      worker.on('error', tell)
      workers.push(worker)
    },

    async close() {
      // Without Redis there is nothing to be told to it, and nothing would answer.
      const isForced = hearing.connection.status !== 'ready'
      const closed = Promise.all(workers.map(worker => worker.close(isForced)))
      await Promise.race([closed, pause(CLOSE_MS)])
      hearing.close()
      await Promise.race([Promise.all([...queues.values()].map(({ queue }) => queue.close())), pause(CLOSE_MS)])
      ringing.disconnect()
    },
  }
}

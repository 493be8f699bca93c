import type { Logger } from 'pino'
import { type Consumer, consumeBatch, type ReadLimits } from '../domain/durable/log/consume.ts'
import { consumeOne, laggingPositions, passingFailures } from '../domain/durable/log/set-aside.ts'
import { markedLogs, unmarkRead } from '../domain/durable/log/unread.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import type { Pool } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import type { ClaimOnInsert } from '../workflows/engine/handler.ts'
import { periodic } from './periodic.ts'
import { turns } from './turns.ts'

export type { Consumer }

export type ConsumersOptions = { pool: Pool; consumers: Consumer[]; claimOnInsert: ClaimOnInsert; log: Logger; at?: AtCrashPoint }

/** Events whose notification was lost are found this often. */
const PERIOD_MS = 1_000
/** Workers share an environment by its partitions; one read is some milliseconds of work. */
const BATCH: ReadLimits = { partitions: 16, perPartition: 64 }

/** Environments that are read at the same time, by all consumers together. */
const READERS = 6
/** To read event by event is slow. A turn of it ends after this time, at the end of the partition that was begun. */
const SINGLE_EVENTS_MS = 250
/** Environments whose marks one statement deletes: it locks all of their positions. */
const UNMARKED_AT_ONCE = 100

type Reader = { key: string; consumer: Consumer; environment: Environment }
/** The partitions that are still to be read event by event, and how many events were. */
type Singly = { partitions: number[]; handled: number }

/**
 * Reads the log for its consumers, one batch a turn, the environments in turn: at once when new events are announced, and every second
 * anyway.
 */
export function startConsumers({ pool, consumers, claimOnInsert, log, at = NOWHERE }: ConsumersOptions) {
  const isPassing = passingFailures()
  let stopped = false
  // The rest of the log that must be read event by event, by key. It is kept from turn to turn.
  const reading = new Map<string, Singly>()

  const warn = (error: unknown, { consumer, environment }: Reader) =>
    log.warn({ err: error, consumer: consumer.name, environment }, 'reading the log failed')

  /** One batch. `again`: more is left. */
  async function readBatch(reader: Reader): Promise<boolean> {
    const { key, consumer, environment } = reader
    try {
      const { isFull } = await claimOnInsert(consumer.jobKind, [environment], async capacity => {
        const batch = await consumeBatch(pool, consumer, environment, BATCH, capacity)
        if (batch.partitions > 0) at('consumed')
        return batch
      })
      return isFull
    } catch (error) {
      warn(error, reader)
      if (classifyFailure(error) === 'unavailable') return false
      // A batch that is too large would be too large at every attempt.
      const positions = await laggingPositions(pool, consumer, environment)
      reading.set(key, { partitions: positions.map(({ partition }) => partition), handled: 0 })
      return true
    }
  }

  /**
   * Reads one event at a time. So an event that cannot be handled is identified, and an event that takes too long delays its own partition
   * alone. After all partitions the next turn tries a batch again; if no event could be handled, the next regular check does.
   */
  async function readSingly(reader: Reader, singly: Singly): Promise<boolean> {
    for (const end = performance.now() + SINGLE_EVENTS_MS; performance.now() < end && !stopped; ) {
      const partition = singly.partitions.shift()
      if (partition === undefined) break
      try {
        singly.handled += await readPartition(reader, partition)
      } catch (error) {
        warn(error, reader)
        if (classifyFailure(error) === 'unavailable') singly.partitions = []
      }
    }
    if (singly.partitions.length > 0) return true
    reading.delete(reader.key)
    return singly.handled > 0
  }

  async function readPartition({ consumer, environment }: Reader, partition: number): Promise<number> {
    for (let count = 0; ; count++) {
      const handled = count < BATCH.perPartition && !stopped ? await consumeOne(pool, consumer, environment, partition, isPassing) : null
      if (!handled) return count
      if (handled.setAside !== null)
        log.error({ consumer: consumer.name, environment, event: handled.event.id, why: handled.setAside }, 'an event was set aside')
    }
  }

  const line = turns<Reader>(READERS, async reader => {
    const singly = reading.get(reader.key)
    const again = await (singly ? readSingly(reader, singly) : readBatch(reader)).catch(error => {
      warn(error, reader)
      return false
    })
    return { again }
  })

  function wakeOne(consumer: Consumer, environment: Environment): void {
    const key = `${consumer.name}:${environment}`
    line.wake(key, { key, consumer, environment })
  }

  async function look(): Promise<void> {
    const marked = await markedLogs(pool)
    for (const { environment, behind } of marked)
      for (const consumer of consumers) if (behind.includes(consumer.name)) wakeOne(consumer, environment)
    const read = marked.filter(({ behind, is_quiet }) => is_quiet && behind.length === 0).map(({ environment }) => environment)
    for (let n = 0; n < read.length && !stopped; n += UNMARKED_AT_ONCE) await unmarkRead(pool, read.slice(n, n + UNMARKED_AT_ONCE))
  }

  const looking = periodic({
    periodMs: PERIOD_MS,
    work: look,
    onFailure: error => log.warn({ err: error }, 'looking for unread events failed'),
  })

  return {
    wake(environment: Environment): void {
      for (const consumer of consumers) wakeOne(consumer, environment)
    },
    /** Checks for unread events. */
    wakeAll: looking.begin,
    async stop(): Promise<void> {
      stopped = true
      await Promise.all([line.stop(), looking.stop()])
    },
  }
}

import type { Logger } from 'pino'
import type { Environment } from '../domain/environment.ts'
import { type Consumer, consumeBatch, type ReadLimits } from '../domain/log/consume.ts'
import { laggingEnvironments } from '../domain/log/read.ts'
import { consumeOne, laggingPositions, passingFailures } from '../domain/log/set-aside.ts'
import type { Pool } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import type { ClaimOnInsert } from '../workflows/engine/handler.ts'

export type { Consumer }

export type ConsumersOptions = { pool: Pool; consumers: Consumer[]; claimOnInsert: ClaimOnInsert; log: Logger; at?: AtCrashPoint }

/** Events whose notification was lost are found this often. */
const PERIOD_MS = 1_000
/** Workers share an environment by its partitions; one read is some milliseconds of work. */
const BATCH: ReadLimits = { partitions: 16, perPartition: 64 }

/** Environments that are read at the same time, by all consumers together. */
const READERS = 6

/** Reads the log for its consumers, environment by environment: at once when new events are announced, and every second anyway. */
export function startConsumers({ pool, consumers, claimOnInsert, log, at = NOWHERE }: ConsumersOptions) {
  const isPassing = passingFailures()
  let stopped = false
  // By consumer and environment: the readers, and which of them are to read again.
  const running = new Map<string, Promise<void>>()
  const again = new Set<string>()
  // Readers beyond the limit: each one keeps a connection busy.
  const waiting = new Map<string, () => void>()

  /** One event at a time: so an event that cannot be handled is identified, and an event that takes too long holds up its own partition alone. */
  async function readOneByOne(consumer: Consumer, environment: Environment): Promise<number> {
    let count = 0
    for (const { partition } of await laggingPositions(pool, consumer, environment)) {
      try {
        for (let n = 0; n < BATCH.perPartition && !stopped; n++) {
          const handled = await consumeOne(pool, consumer, environment, partition, isPassing)
          if (!handled) break
          count++
          if (handled.setAside !== null)
            log.error({ consumer: consumer.name, environment, event: handled.event.id, why: handled.setAside }, 'an event was set aside')
        }
      } catch (error) {
        log.warn({ err: error, consumer: consumer.name, environment, partition }, 'reading the log failed')
        if (classifyFailure(error) === 'unavailable') break
      }
    }
    return count
  }

  async function read(consumer: Consumer, environment: Environment, key: string): Promise<void> {
    do {
      again.delete(key)
      try {
        // Events that are appended meanwhile are announced: the end is not read again.
        for (let isFull = true; isFull && !stopped; ) {
          const consumed = await claimOnInsert(consumer.jobKind, environment, async capacity => {
            const batch = await consumeBatch(pool, consumer, environment, BATCH, capacity)
            if (batch.partitions > 0) at('consumed')
            return batch
          })
          isFull = consumed.isFull
        }
      } catch (error) {
        log.warn({ err: error, consumer: consumer.name }, 'reading the log failed')
        if (classifyFailure(error) === 'unavailable') return
        // A batch that is too large would be too large at every attempt. When not one event can be handled, the next regular look tries again.
        const count = await readOneByOne(consumer, environment).catch(second => {
          log.warn({ err: second, consumer: consumer.name }, 'reading the log failed')
          return 0
        })
        if (count === 0) return
        again.add(key)
      }
    } while (again.has(key) && !stopped)
  }

  function wakeOne(consumer: Consumer, environment: Environment): void {
    if (stopped) return
    const key = `${consumer.name}:${environment}`
    if (running.has(key)) again.add(key)
    else if (running.size >= READERS) waiting.set(key, () => wakeOne(consumer, environment))
    else
      running.set(
        key,
        read(consumer, environment, key).finally(() => {
          running.delete(key)
          const [next] = waiting
          if (!next) return
          waiting.delete(next[0])
          next[1]()
        }),
      )
  }

  const wake = (environment: Environment) => {
    for (const consumer of consumers) wakeOne(consumer, environment)
  }
  const wakeAll = () => {
    for (const consumer of consumers)
      laggingEnvironments(pool, consumer.name).then(
        environments => {
          for (const environment of environments) wakeOne(consumer, environment)
        },
        error => log.warn({ err: error, consumer: consumer.name }, 'looking for unread events failed'),
      )
  }
  const timer = setInterval(wakeAll, PERIOD_MS)

  return {
    wake,
    wakeAll,
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      await Promise.all(running.values())
    },
  }
}

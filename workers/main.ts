import type { Logger } from 'pino'
import type { Batch } from '../domain/jobs/sweep.ts'
import { takeBatch } from '../domain/jobs/take-batch.ts'
import { DUE_CHANNEL } from '../domain/jobs/workflow-run.ts'
import { LOG_CHANNEL } from '../domain/log/consumer.ts'
import { connect, type Pool } from '../store/connect.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import type { JobHandler, Outcome } from '../workflows/engine/handler.ts'
import { executor } from './executor.ts'
import { startListener } from './listener.ts'
import { type Consumer, startConsumers } from './log-consumers.ts'
import type { Queue } from './queue.ts'
import { startSweep } from './sweep.ts'
import { fireAll, type Timer } from './timers.ts'

export type WorkerOptions = {
  pool: Pool
  /** For the connection that hears of new promises. */
  url: string
  queue: Queue
  handlers: JobHandler[]
  timers?: Timer[]
  consumers?: Consumer[]
  leaseMs?: number
  log: Logger
  onOutcome?: (kind: string, outcome: Outcome['is'] | 'error') => void
  at?: AtCrashPoint
}

export const LEASE_MS = 30_000
/** A busy machine may be silent for a moment; to connect anew would not make it faster. */
const SHORTEST_SILENCE_MS = 5_000

export type Worker = { stop(): Promise<void> }

/** Turns the promises: sweeps, hears rings, claims, performs, and reads the log, until stopped. */
export async function startWorker({
  pool,
  url,
  queue,
  handlers,
  timers = [],
  consumers = [],
  leaseMs = LEASE_MS,
  log,
  onOutcome,
  at = NOWHERE,
}: WorkerOptions): Promise<Worker> {
  // Of its own: a heartbeat must not stand behind everything that a busy worker asks of the database.
  // And one that is not answered within a lease is of no use: it only stands in the way of the next.
  const silenceMs = Math.max(leaseMs, SHORTEST_SILENCE_MS)
  const beating = connect({ url, name: 'perennial-leases', max: 2, statementTimeoutMs: silenceMs, silenceMs })
  const holding = executor({
    pool,
    beating,
    handlers: handlers,
    leaseMs,
    log,
    onOutcome(kind, outcome) {
      // Its next deadline may be nearer than the sweep's next look.
      if (outcome === 'suspended') sweep.wakeSoon()
      onOutcome?.(kind, outcome)
    },
    onClaimed: count => sweep.onClaimed(count),
    at,
  })
  const byKind = new Map(timers.map(timer => [timer.kind, timer]))
  const firing = new Set<Promise<void>>()
  const take = async (kind: string, ring: Batch): Promise<void> => {
    const timer = byKind.get(kind)
    if (!timer) return holding.take(kind, ring)
    const { claimed } = await takeBatch(pool, kind, ring.number, 0)
    const fired = fireAll(
      timer,
      claimed.map(({ id }) => id),
      log,
    ).finally(() => firing.delete(fired))
    firing.add(fired)
    await fired
  }
  const sweep = startSweep({ pool, queue, take, claiming: holding.claiming, log })
  const reading = startConsumers({ pool, consumers, claimOnInsert: holding.claimOnInsert, log, at })
  for (const kind of [...holding.kinds, ...byKind.keys()]) await queue.listen(kind, ring => take(kind, ring))
  const listener = startListener(
    url,
    { [DUE_CHANNEL]: sweep.wake, [LOG_CHANNEL]: environment => reading.wake(Number(environment)) },
    () => {
      sweep.wake()
      reading.wakeAll()
    },
  )
  return {
    async stop() {
      // First, so that nothing under way begins another step while the rest winds down.
      const given = holding.stop()
      // What is given back is for others to ring.
      const swept = sweep.stop()
      await listener.stop()
      await Promise.all([swept, reading.stop()])
      await given
      await queue.close()
      await Promise.all(firing)
      await beating.end()
    },
  }
}

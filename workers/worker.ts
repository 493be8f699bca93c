import type { Logger } from 'pino'
import { JOB_CHANNEL } from '../domain/durable/jobs/sql.ts'
import type { Batch } from '../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../domain/durable/jobs/take-batch.ts'
import { LOG_CHANNEL } from '../domain/durable/log/consumer.ts'
import { FACTS_CHANNEL } from '../domain/durable/marks/mark.ts'
import { connect, type Pool } from '../store/connect.ts'
import { startListener } from '../store/listener.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import type { JobHandler, Outcome } from '../workflows/engine/handler.ts'
import { executor } from './executor.ts'
import { startFactFolds } from './fact-folds.ts'
import { liveNotices } from './live-notices.ts'
import { type Consumer, startConsumers } from './log-consumers.ts'
import { startPresence } from './presence.ts'
import type { Queue } from './queue.ts'
import { startSweep } from './sweep.ts'
import { fireAll, type Timer } from './timers.ts'

export type WorkerOptions = {
  pool: Pool
  /** For the connection that listens to notifications. */
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

const LEASE_MS = 30_000
/** A busy machine may be silent for a moment; a new connection would not make it faster. */
const SHORTEST_SILENCE_MS = 5_000

export type Worker = { stop(): Promise<void> }

/** Sweeps, takes batches, executes jobs and reads the log, until it is stopped. */
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
  // A pool of its own: a heartbeat must not wait behind the many statements of a busy worker. A heartbeat without an answer within a lease is
  // useless and only delays the next one.
  const silenceMs = Math.max(leaseMs, SHORTEST_SILENCE_MS)
  const heartbeatPool = connect({ url, name: 'perennial-leases', leaseMs, max: 2, statementTimeoutMs: silenceMs, silenceMs })
  const jobs = executor({
    pool,
    heartbeatPool,
    handlers,
    leaseMs,
    log,
    onOutcome(kind, outcome) {
      // The next due time of the job may be nearer than the next sweep.
      if (outcome === 'suspended') sweep.wakeSoon()
      onOutcome?.(kind, outcome)
    },
    onChanged: liveNotices(pool),
    onClaimed: count => sweep.onClaimed(count),
    at,
  })
  const timersByKind = new Map(timers.map(timer => [timer.kind, timer]))
  const firing = new Set<Promise<void>>()
  const take = async (kind: string, batch: Batch): Promise<void> => {
    const timer = timersByKind.get(kind)
    if (!timer) return jobs.takeBatch(kind, batch)
    const { claimed } = await takeBatch(pool, kind, batch.number, 0)
    const fired = fireAll(
      timer,
      claimed.map(({ id }) => id),
      log,
    ).finally(() => firing.delete(fired))
    firing.add(fired)
    await fired
  }
  const kinds = [...jobs.kinds, ...timersByKind.keys()]
  const sweep = startSweep({ pool, queue, kinds, takeBatch: take, claimBySweep: jobs.claimBySweep, log })
  const logConsumers = startConsumers({ pool, consumers, claimOnInsert: jobs.claimOnInsert, log, at })
  const folds = startFactFolds({ pool, log, at })
  for (const kind of kinds) await queue.listen(kind, batch => take(kind, batch))
  const presence = startPresence(pool, kinds)
  const listener = startListener(
    url,
    {
      [JOB_CHANNEL]: sweep.wake,
      [LOG_CHANNEL]: environment => logConsumers.wake(Number(environment)),
      [FACTS_CHANNEL]: environment => folds.wake(Number(environment)),
    },
    () => {
      sweep.wake()
      logConsumers.wakeAll()
      folds.wakeAll()
    },
  )
  return {
    async stop() {
      // First, so that no job begins another step while the other parts stop.
      const executed = jobs.stop()
      // Other workers dispatch the released jobs.
      const swept = sweep.stop()
      await Promise.all([listener.stop(), presence.stop()])
      await Promise.all([swept, logConsumers.stop(), folds.stop()])
      await executed
      await queue.close()
      await Promise.all(firing)
      await heartbeatPool.end()
    },
  }
}

import type { Logger } from 'pino'
import type { Pool } from '../store/connect.ts'
import type { Outcome } from '../workflows/engine/execute.ts'
import { POLICIES, type Policies } from '../workflows/engine/policy.ts'
import type { Workflow } from '../workflows/engine/workflow.ts'
import { holder } from './holder.ts'
import type { Queue } from './queue.ts'
import { startSweep } from './sweep.ts'
import { fireAll, type Timer } from './timers.ts'

export type WorkerOptions = {
  pool: Pool
  /** For the connection that hears of new promises. */
  url: string
  queue: Queue
  workflows: Workflow[]
  timers?: Timer[]
  policies?: Policies
  leaseMs?: number
  log: Logger
  onOutcome?: (kind: string, outcome: Outcome['is'] | 'error') => void
}

export const LEASE_MS = 30_000

export type Worker = { stop(): Promise<void> }

/** Turns the workflows: sweeps, hears rings, claims, executes, until stopped. */
export async function startWorker({
  pool,
  url,
  queue,
  workflows,
  timers = [],
  policies = POLICIES,
  leaseMs = LEASE_MS,
  log,
  onOutcome,
}: WorkerOptions): Promise<Worker> {
  const runs = holder({
    pool,
    workflows,
    policies,
    leaseMs,
    log,
    onOutcome(kind, outcome) {
      // Its next deadline may be nearer than the sweep's next look.
      if (outcome === 'suspended') sweep.wake()
      onOutcome?.(kind, outcome)
    },
  })
  const byKind = new Map(timers.map(timer => [timer.kind, timer]))
  const firing = new Set<Promise<void>>()
  const take = async (kind: string, ids: number[]): Promise<void> => {
    const timer = byKind.get(kind)
    if (!timer) return runs.take(kind, ids)
    const fired = fireAll(timer, ids, log).finally(() => firing.delete(fired))
    firing.add(fired)
    await fired
  }
  const sweep = startSweep({ pool, url, queue, take, log })
  for (const kind of [...runs.kinds, ...byKind.keys()]) await queue.listen(kind, ids => take(kind, ids))
  return {
    async stop() {
      // First, so that no run under way begins another step while the rest winds down.
      const given = runs.stop()
      await sweep.stop()
      await given
      await queue.close()
      await Promise.all(firing)
    },
  }
}

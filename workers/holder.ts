import type { Logger } from 'pino'
import { type ClaimedRun, claimRuns } from '../domain/runs/claim.ts'
import { prolongLeases, releaseLeases } from '../domain/runs/lease.ts'
import type { Pool } from '../store/connect.ts'
import { execute, type Outcome } from '../workflows/engine/execute.ts'
import type { Policies } from '../workflows/engine/policy.ts'
import type { Workflow } from '../workflows/engine/workflow.ts'

export type HolderOptions = {
  pool: Pool
  workflows: Workflow[]
  policies: Policies
  /** Real time for which a claim holds; prolonged every third of it. */
  leaseMs: number
  log: Logger
  onOutcome: (kind: string, outcome: Outcome['is'] | 'error') => void
}

/** Runs that the process waits for when it stops, before it gives them back. */
const STOP_GRACE_MS = 5_000

type Held = { run: ClaimedRun; lease: AbortController; until: number; done: Promise<void> }

/** Holds claimed runs: as many of each kind as there are slots, with their leases alive. */
export function holder({ pool, workflows, policies, leaseMs, log, onOutcome }: HolderOptions) {
  const byKind = new Map(workflows.map(workflow => [workflow.kind, workflow]))
  const held = new Map<string, Held>()
  const stopping = new AbortController()
  const halt = new AbortController()
  const freed = new Set<() => void>()
  const running = (kind: string) => [...held.values()].filter(({ run }) => run.kind === kind).length
  // Claims under way count as taken, or two rings at once would fill the same slot.
  const claiming = new Map<string, number>()

  function hold(workflow: Workflow, run: ClaimedRun, claimedAt: number): void {
    const key = `${run.kind}:${run.id}`
    const lease = new AbortController()
    const isHeld = () => performance.now() < (held.get(key)?.until ?? claimedAt + leaseMs)
    const signals = { lease: lease.signal, isHeld, stopping: stopping.signal, halt: halt.signal }
    const report = (outcome: Outcome['is'] | 'error', detail: object) => {
      onOutcome(run.kind, outcome)
      const level = outcome === 'failed' || outcome === 'error' ? 'error' : outcome === 'suspended' || outcome === 'lost' ? 'warn' : 'info'
      log[level]({ kind: run.kind, run: run.id, subject: run.subject, ...detail }, `run ${outcome}`)
    }
    const done = execute({ pool, policies, workflow, run, signals })
      .then(async outcome => {
        if (outcome.is === 'interrupted') await releaseLeases(pool, [run])
        report(outcome.is, 'why' in outcome ? { why: outcome.why } : {})
      })
      .catch(error => report('error', { err: error }))
      .finally(() => {
        // This process may have claimed the run anew after it lost it: that hold lives on.
        if (held.get(key) === entry) held.delete(key)
        for (const wake of freed) wake()
      })
    const entry: Held = { run, lease, until: claimedAt + leaseMs, done }
    held.get(key)?.lease.abort(new Error('the lease was lost'))
    held.set(key, entry)
  }

  async function freeSlots(workflow: Workflow): Promise<number> {
    for (;;) {
      const free = workflow.concurrency - running(workflow.kind) - (claiming.get(workflow.kind) ?? 0)
      if (free > 0 || stopping.signal.aborted) return free
      await new Promise<void>(resolve => {
        const wake = () => {
          freed.delete(wake)
          resolve()
        }
        freed.add(wake)
      })
    }
  }

  /** Claims those of the runs that are due, as slots become free; resolves when each was claimed, by us or somebody else. */
  async function take(kind: string, ids: number[]): Promise<void> {
    const workflow = byKind.get(kind)
    if (!workflow) return
    for (let rest = [...new Set(ids)]; rest.length > 0; ) {
      const free = await freeSlots(workflow)
      if (stopping.signal.aborted) return
      const some = rest.slice(0, free)
      rest = rest.slice(free)
      claiming.set(kind, (claiming.get(kind) ?? 0) + some.length)
      try {
        // The lease counts from before the claim was sent: ours ends no later than the database's.
        const claimedAt = performance.now()
        for (const run of await claimRuns(pool, kind, some, leaseMs)) hold(workflow, run, claimedAt)
      } finally {
        claiming.set(kind, claiming.get(kind)! - some.length)
      }
    }
  }

  const lose = (entry: Held) => entry.lease.abort(new Error('the lease was lost'))

  async function heartbeat(): Promise<void> {
    const entries = [...held.entries()]
    if (entries.length === 0) return
    const sentAt = performance.now()
    const kept = await prolongLeases(
      pool,
      entries.map(([, { run }]) => run),
      leaseMs,
    ).catch(() => null)
    for (const [key, entry] of entries) {
      if (kept?.has(key)) entry.until = sentAt + leaseMs
      else if (kept && held.get(key) === entry) lose(entry)
    }
  }

  // On our own monotonic clock: a lease that could not be prolonged in time is somebody else's, whether or not we heard of it.
  const watch = setInterval(() => {
    for (const entry of held.values()) if (performance.now() >= entry.until) lose(entry)
    void heartbeat()
  }, leaseMs / 3)

  return {
    take,
    kinds: [...byKind.keys()],
    /** Takes no more, lets steps under way finish for a moment, gives everything else back. */
    async stop(): Promise<void> {
      stopping.abort()
      for (const wake of freed) wake()
      const all = Promise.all([...held.values()].map(({ done }) => done))
      const timer = setTimeout(() => halt.abort(new Error('the process stops')), STOP_GRACE_MS)
      await all
      clearTimeout(timer)
      clearInterval(watch)
    },
  }
}

import { jobFloors } from '../domain/durable/jobs/floors.ts'
import { type Drift, readDrift } from '../domain/oversight/reconciliation/drift.ts'
import { sharedDrift } from '../domain/oversight/reconciliation/shared-drift.ts'
import { type LastPush, lastPushes } from '../domain/purchases/store-inbox/figures.ts'
import type { Pool } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'
import { isMigrated } from '../store/migrate.ts'
import { type Throttled, throttled } from './throttled.ts'

/** A load balancer gives up after a second or two: an answer without the latest figures is better than none. */
const WAIT_MS = { withLast: 1_000, withoutLast: 3_000 }
const MIGRATED_FRESH_MS = 1_000
/** The interval between two reads: the figures read the beginning of every group of jobs, which costs the most when the database is busiest. */
const DRIFT_FRESH_MS = 5_000

/** `slow`: the database did not answer in time. That is no reason to take the service out of a load balancer. */
export type DatabaseState = 'ready' | 'slow' | 'unavailable'
export type Readiness = {
  database(): Promise<DatabaseState>
  drift(): Promise<Drift | null>
  /** How old the figures are that `drift` has resolved to last; null: there were none. */
  driftAgeMs(): number | null
  lastPushes(): Promise<LastPush[] | null>
  isDraining(): boolean
  /** From now on the process is not ready: others take its requests, while it still answers those that come. */
  beginDraining(): void
}

const latest = <T>(recent: Throttled<T>): T | null => (recent.is === 'read' ? recent.value : recent.is === 'slow' ? recent.last : null)

/**
 * The state of the database for `/readyz` and the metrics. `pool`: no other statements use its connections, because a queue of other
 * statements would look like a database that is down.
 */
export function readiness(pool: Pool, driftFreshMs: number = DRIFT_FRESH_MS): Readiness {
  const migrated = throttled(() => isMigrated(pool), { freshMs: MIGRATED_FRESH_MS, waitMs: WAIT_MS })
  const floors = jobFloors(pool)
  const readFigures = async () => {
    await floors.refresh()
    return readDrift(pool, floors.current())
  }
  let driftReadAt: number | null = null
  const readShared = async () => {
    const shared = await sharedDrift(pool, driftFreshMs, readFigures)
    driftReadAt = performance.now() - shared.ageMs
    return shared
  }
  const drift = throttled(readShared, { freshMs: driftFreshMs, ageMs: ({ ageMs }) => ageMs, waitMs: WAIT_MS })
  const pushes = throttled(() => lastPushes(pool), { freshMs: driftFreshMs, waitMs: WAIT_MS })
  let draining = false
  return {
    isDraining: () => draining,
    beginDraining() {
      draining = true
    },
    async database() {
      const recent = await migrated()
      switch (recent.is) {
        case 'read':
          return recent.value ? 'ready' : 'unavailable'
        case 'failed':
          return classifyFailure(recent.error) === 'timeout' ? 'slow' : 'unavailable'
        case 'slow':
          return 'slow'
        default:
          return recent satisfies never
      }
    },
    /** At most five seconds old; older while the database is slow; null: no figures could be read. */
    drift: async () => latest(await drift())?.drift ?? null,
    driftAgeMs: () => driftReadAt && performance.now() - driftReadAt,
    /** As fresh as that. */
    lastPushes: async () => latest(await pushes()),
  }
}

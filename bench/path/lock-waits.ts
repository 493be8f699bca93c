import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'

const EVERY_MS = 20

/** Of the moments at which statements of this database were seen under way: per cent in which they waited for a lock, and for one in memory. */
export type LockWaits = { locks: number; light: number }

/** Looks at the sessions of the pool's database until `stop`. */
export function watchLockWaits(pool: Pool): { stop(): Promise<LockWaits> } {
  let hasEnded = false
  const seen = { active: 0, locks: 0, light: 0 }
  const look = async () => {
    while (!hasEnded) {
      const { rows } = await pool.query<typeof seen>(
        `select count(*)::int as active, count(*) filter (where wait_event_type = 'Lock')::int as locks, count(*) filter (where wait_event_type = 'LWLock')::int as light
         from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`,
      )
      seen.active += rows[0]!.active
      seen.locks += rows[0]!.locks
      seen.light += rows[0]!.light
      await sleep(EVERY_MS)
    }
  }
  const ended = look()
  const share = (count: number) => (100 * count) / Math.max(1, seen.active)
  return {
    async stop() {
      hasEnded = true
      await ended
      return { locks: share(seen.locks), light: share(seen.light) }
    },
  }
}

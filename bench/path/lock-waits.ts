import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'

const EVERY_MS = 20

/**
 * Of the moments at which statements of this database were seen under way: per cent in which they waited for a lock, and for one in memory.
 * `most`: the beginning of the statement that waited for locks most often.
 */
export type LockWaits = { locks: number; light: number; most: string }

/** Looks at the sessions of the pool's database until `stop`. */
export function watchLockWaits(pool: Pool): { stop(): Promise<LockWaits> } {
  let hasEnded = false
  const seen = { active: 0, Lock: 0, LWLock: 0 }
  const waiting = new Map<string, number>()
  const look = async () => {
    while (!hasEnded) {
      const { rows } = await pool.query<{ type: string | null; statement: string }>(
        `select wait_event_type as type, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) as statement
         from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()`,
      )
      for (const { type, statement } of rows) {
        seen.active += 1
        if (type === 'Lock' || type === 'LWLock') seen[type] += 1
        if (type === 'Lock') waiting.set(statement, (waiting.get(statement) ?? 0) + 1)
      }
      await sleep(EVERY_MS)
    }
  }
  const ended = look()
  const share = (count: number) => (100 * count) / Math.max(1, seen.active)
  return {
    async stop() {
      hasEnded = true
      await ended
      const [most = ''] = [...waiting].sort(([, x], [, y]) => y - x).map(([statement]) => statement)
      return { locks: share(seen.Lock), light: share(seen.LWLock), most }
    },
  }
}

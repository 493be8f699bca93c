import { setTimeout as delay } from 'node:timers/promises'
import type { Tx } from './connect.ts'

/** Advisory lock: only its holder changes the schema. Any constant will do if every version of the program uses the same one. */
const MIGRATION_LOCK = 7_301_994
const PAUSE_MS = 100
const LONG_MS = 1_000

/**
 * Takes the lock for the rest of the session; `shared`: together with others that only need the schema to stay as it is. Asks every 100 ms and
 * does not wait inside a statement: a waiting statement has a snapshot, and an index that the holder builds concurrently waits for the end of
 * every snapshot, so each would wait for the other. `onLong`: called once, when it has waited for a second.
 */
export async function takeMigrationLock(db: Tx, mode: 'exclusive' | 'shared', signal?: AbortSignal, onLong?: () => void): Promise<void> {
  const attempt = mode === 'shared' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
  const begin = performance.now()
  let isLong = false
  for (;;) {
    const { rows } = await db.query<{ is_taken: boolean }>(`select ${attempt}($1) as is_taken`, [MIGRATION_LOCK])
    if (rows[0]!.is_taken) return
    if (!isLong && performance.now() - begin > LONG_MS) {
      isLong = true
      onLong?.()
    }
    await delay(PAUSE_MS, undefined, signal && { signal })
  }
}

/** Gives back what `takeMigrationLock` has taken as `shared`. */
export async function leaveSharedMigrationLock(db: Tx): Promise<void> {
  await db.query('select pg_advisory_unlock_shared($1)', [MIGRATION_LOCK])
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'

/** Locks of tables that exist already which make writers or readers wait, and the program that migrates. */
const HELD = `
  select c.relname || ' ' || l.mode as held from pg_locks l join pg_stat_activity a using (pid) join pg_class c on c.oid = l.relation
  where a.application_name = 'perennial-migrate' and l.granted and c.relkind in ('r', 'p') and c.oid = any ($1)
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`

/** Watches for how long a migration holds a lock on a table that was there before, in ms, by the table and the lock. */
export async function watchLocks(pool: Pool): Promise<{ end(): Promise<Record<string, number>> }> {
  const { rows } = await pool.query<{ oid: number }>(
    `select oid::int8 as oid from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`,
  )
  const tables = rows.map(({ oid }) => oid)
  const longest: Record<string, number> = {}
  let since = new Map<string, number>()
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const now = performance.now()
      const held = (await pool.query<{ held: string }>(HELD, [tables])).rows.map(row => row.held)
      since = new Map(held.map(name => [name, since.get(name) ?? now]))
      for (const [name, begin] of since) longest[name] = Math.max(longest[name] ?? 0, Math.round(performance.now() - begin))
      await delay(20)
    }
  })()
  return {
    async end() {
      isOver = true
      await watching
      return longest
    },
  }
}

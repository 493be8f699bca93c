import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'
import { knownMigrations } from '../../store/schema-history.ts'

/** Locks of tables that exist already which make writers or readers wait, and the program that migrates; the newest migration that is done. */
const HELD = `
  select (select max(version) from migrations) as version, array(
    select c.relname || ' ' || l.mode from pg_locks l join pg_stat_activity a using (pid) join pg_class c on c.oid = l.relation
    where a.application_name = 'perennial-migrate' and l.granted and c.relkind in ('r', 'p') and c.oid = any ($1)
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) as held`
const EVERY_MS = 10

/** Of one migration: the lock that it held for longest, and for how many ms. 0: for less than the time between two looks. */
export type LongestLock = { lock: string; ms: number }

/** Watches for how long each migration that is missing holds a lock on a table that was there before. */
export async function watchLocks(pool: Pool): Promise<{ end(): Promise<Record<string, LongestLock>> }> {
  const { rows } = await pool.query<{ oid: number }>(
    `select oid::int8 as oid from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`,
  )
  const tables = rows.map(({ oid }) => oid)
  const known = await knownMigrations()
  const look = async () => (await pool.query<{ version: number; held: string[] }>(HELD, [tables])).rows[0]!
  const { version: first } = await look()
  const longest = Object.fromEntries(
    known.filter(({ version }) => version > first).map(({ name }): [string, LongestLock] => [name, { lock: 'none', ms: 0 }]),
  )
  let since = new Map<string, number>()
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const now = performance.now()
      const { version, held } = await look()
      const name = known.find(migration => migration.version > version)?.name
      since = new Map(held.map(lock => [lock, since.get(lock) ?? now]))
      for (const [lock, begin] of since) {
        const ms = Math.round(performance.now() - begin)
        if (name !== undefined && ms > longest[name]!.ms) longest[name] = { lock, ms }
      }
      await delay(EVERY_MS)
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

import type { Db } from '../../store/connect.ts'

/** Notes what the watchdog has found: for every process that is asked how things stand. */
export const noteLook = (db: Db, { orphans, repaired }: { orphans: number; repaired: number }): Promise<unknown> =>
  db.query(
    `insert into watchdog (looked_at, orphans, repaired) values (clock_timestamp(), $1, $2)
     on conflict (one) do update set looked_at = excluded.looked_at, orphans = excluded.orphans, repaired = watchdog.repaired + excluded.repaired`,
    [orphans, repaired],
  )

/** Tries to be the one that watches, as long as this connection lives. */
export async function tryWatch(db: Db, lock: number): Promise<boolean> {
  const { rows } = await db.query<{ locked: boolean }>('select pg_try_advisory_lock($1, 0) as locked', [lock])
  return rows[0]!.locked
}

import type { Db } from '../../store/connect.ts'

const KEPT_DAYS = 90

/** Removes runs that ended long ago, with their steps; at most 10,000 at once. */
export async function dropOldRuns(db: Db): Promise<number> {
  const { rowCount } = await db.query(
    `delete from runs where id in (select r.id from runs r join environments e on e.id = r.environment
       where r.finished_at < clock_timestamp() + e.clock_offset - make_interval(days => $1) order by r.finished_at limit 10000)`,
    [KEPT_DAYS],
  )
  return rowCount ?? 0
}

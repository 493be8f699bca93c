import type { Db } from '../../store/connect.ts'

const DROP = `
with lapsed as materialized (
  select s.environment, s.id from environments e cross join lateral (
    select environment, id from pending_screens where environment = e.id and expires_at < now() + e.clock_offset
    order by expires_at limit $1) s limit $1
), locked as materialized (
  select s.environment, s.id from lapsed l join pending_screens s on s.environment = l.environment and s.id = l.id
  order by s.environment, s.id for update of s skip locked
), gone as (
  delete from pending_screens s using locked l where s.environment = l.environment and s.id = l.id returning 1
)
select count(*)::int as dropped from gone`

/** Removes screens that were not fetched in time, and those that were, by the clock of their environment; at most `batch` at once. */
export async function dropLapsedScreens(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [batch])
  return rows[0]!.dropped
}

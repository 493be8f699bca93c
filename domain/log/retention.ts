import type { Db } from '../../store/connect.ts'

const KEPT_DAYS = 400

/** Removes events that were set aside, once they are replayed or 400 days old (real time, as `set_aside_at` is); at most `batch` at once. */
export async function dropSetAside(db: Db, batch: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(
    `with locked as materialized (
       select consumer, environment, partition, log_offset from set_aside_events
       where replayed_at is not null or set_aside_at < now() - make_interval(days => $1)
       order by consumer, environment, partition, log_offset limit $2 for update skip locked
     ), gone as (
       delete from set_aside_events s using locked l
       where s.consumer = l.consumer and s.environment = l.environment and s.partition = l.partition and s.log_offset = l.log_offset returning 1
     )
     select count(*)::int as dropped from gone`,
    [KEPT_DAYS, batch],
  )
  return rows[0]!.dropped
}

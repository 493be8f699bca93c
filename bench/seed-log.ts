import type { Pool } from '../store/connect.ts'
import { say, thousands } from './report.ts'
import { FACT_DAYS } from './seed-facts.ts'

const PARTITIONS = 64
const SLICE = 500_000

/** What no figure reads: an index that is not there need not be written. */
const UNREAD = ['events_by_event_id', 'events_by_transaction', 'events_by_receipt', 'events_by_user', 'events_posted_facts']

/** Who reads the log in a bench. */
export type LogReaders = 'by figures' | 'by all'

/** So many events of users with facts, that are no facts themselves, over the year before `end`, in the order of time. */
export async function seedLog(
  pool: Pool,
  environment: number,
  { users, visits, end, read = 'by figures' }: { users: number; visits: number; end: number; read?: LogReaders },
): Promise<void> {
  say(`seeding a log of ${thousands(visits)} events`)
  if (read === 'by figures') await pool.query(`drop index if exists ${UNREAD.join(', ')}`)
  const start = end - FACT_DAYS * 86_400
  const time = `to_timestamp(${start} + n * ${FACT_DAYS * 86_400} / ${visits})`
  for (let n = 0; n < visits; n += SLICE)
    await pool.query(
      `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
       select $1, n % ${PARTITIONS}, n / ${PARTITIONS}, 'visit-' || n, 'visit-' || n, 'screen_viewed',
         'user-' || (hashint8(n)::bigint & 2147483647) % ${users}, ${time}, ${time}
       from generate_series($2::bigint, $3::bigint) n`,
      [environment, n, Math.min(n + SLICE, visits) - 1],
    )
  await pool.query(
    `update log_positions l set next_offset = coalesce(
       (select max(log_offset) + 1 from events where environment = l.environment and partition = l.partition), 0) where environment = $1`,
    [environment],
  )
  await pool.query('vacuum (analyze) events')
  await pool.query('checkpoint')
}

import { partitionOf } from '../../domain/durable/log/partition.ts'
import type { Pool } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'

/** Events of one insert. */
const SLICE = 50_000
const USERS = 5_000

// Offsets without gaps, times of receipt that never decrease within a partition, and the mark of an unread log: as the product writes them.
const APPEND = `
  with users as (
    select *, row_number() over () - 1 as k from unnest($2::smallint[], $3::text[]) u(partition, user_id)
  ), numbered as (
    select n, u.partition, u.user_id, row_number() over (partition by u.partition order by n) - 1 as nth
    from generate_series($4::bigint, $5::bigint) n join users u on u.k = n % ${USERS}
  ), marked as (
    insert into unread_logs (environment) values ($1)
  ), inserted as (
    insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
    select $1, n.partition, p.next_offset + n.nth, 'evt_unread_' || $1 || '_' || n.n, 'unread-' || n.n, $6, n.user_id, now(), now()
    from numbered n join log_positions p on p.environment = $1 and p.partition = n.partition
    returning partition
  )
  update log_positions p set next_offset = p.next_offset + w.rows, last_received_at = now()
  from (select partition, count(*) as rows from inserted group by partition) w where p.environment = $1 and p.partition = w.partition`

/** Appends events of 5,000 users, by SQL: no consumer hears of them but by its regular look. */
export async function appendUnread(pool: Pool, environment: number, count: number, name: string): Promise<void> {
  const users = Array.from({ length: USERS }, userId)
  const partitions = users.map(user => partitionOf(environment, user))
  for (let n = 0; n < count; n += SLICE) {
    const last = Math.min(n + SLICE, count) - 1
    await transaction(pool, tx => tx.query(APPEND, [environment, partitions, users, n, last, name]))
  }
}

/** Events that the consumers of these environments have not read. */
export async function unreadEvents(pool: Pool, environments: readonly number[]): Promise<number> {
  const { rows } = await pool.query<{ unread: number }>(
    `select coalesce(sum(l.next_offset - c.next_offset), 0)::bigint as unread
     from log_consumers c join log_positions l using (environment, partition) where c.environment = any ($1)`,
    [environments],
  )
  return rows[0]!.unread
}

import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { ConsumerName } from './consumer.ts'

// Which environments may have events that a consumer has not read: a look reads their marks and not the positions of all environments.
//
// - The transaction that appends events reads the marks after it has locked the positions, and inserts one unless it sees one.
// - A mark is deleted under the locks of all positions of the environment, when every consumer is at its end. Whoever appends later reads
//   the marks after that deletion; whoever is appending holds a position, and the mark stays.
// - Marks repeat: two writers that see none insert two, and neither waits for the other, as with a unique index it would.

const MARK = `
  with consumed as materialized (
    select id from environments where id = $1 and consumed
  ), marked as (
    insert into unread_logs (environment) select id from consumed where not exists (select 1 from unread_logs where environment = $1)
  )
  select 1 from consumed`

/** Marks the log as unread, after the statement that has locked the positions. False: no consumer reads this environment. */
export async function markUnread(tx: Tx, environment: Environment): Promise<boolean> {
  const { rowCount } = await tx.query({ name: 'mark-unread', text: MARK, values: [environment] })
  return rowCount === 1
}

/** A writer that appends again after a pause this short finds the mark of its last events and need not write another one. */
const QUIET = `interval '5 seconds'`

/** `behind`: the consumers that have something to read. `is_quiet`: nothing was appended for a while. */
export type MarkedLog = { environment: Environment; behind: ConsumerName[]; is_quiet: boolean }

/** The environments with a mark. Without a mark there is nothing to read. */
export async function markedLogs(db: Db): Promise<MarkedLog[]> {
  const { rows } = await db.query<MarkedLog>({
    name: 'marked-logs',
    text: `select u.environment, p.behind, not exists (
             select 1 from log_positions where environment = u.environment and last_received_at > e.now - ${QUIET}) as is_quiet
           from (select distinct environment from unread_logs) u cross join lateral (
             select clock_timestamp() + clock_offset as now from environments where id = u.environment limit 1) e cross join lateral (
             select coalesce(array_agg(distinct c.consumer), '{}') as behind from log_consumers c cross join lateral (
               select next_offset from log_positions where environment = c.environment and partition = c.partition limit 1) l
             where c.environment = u.environment and c.next_offset < l.next_offset) p`,
  })
  return rows
}

// One statement, so that no process holds the positions while it does something else. The statement never waits: a position that is locked
// keeps the mark. A mark whose deletion is lost in a crash costs one check, so the locks do not last until the commit is on disk. When all
// positions are locked, the array has one element for each partition.
const UNMARK = `
  with ends as materialized (
    select environment, partition, next_offset from log_positions where environment = any ($1) order by environment, partition
    for no key update skip locked
  ), read as materialized (
    select e.environment
    from (select environment, count(*) as locked, array_agg(next_offset order by partition) as offsets from ends group by environment) e
    where e.locked = (select count(*) from log_positions where environment = e.environment)
      and not exists (select 1 from log_consumers c where c.environment = e.environment and c.next_offset < e.offsets[c.partition + 1])
  )
  delete from unread_logs where environment = any (array(select environment from read)) and set_config('synchronous_commit', 'off', true) = 'off'`

/** Deletes the marks of those of the environments that every consumer has read to the end. */
export const unmarkRead = (db: Db, environments: readonly Environment[]): Promise<unknown> =>
  db.query({ name: 'unmark-read', text: UNMARK, values: [environments] })

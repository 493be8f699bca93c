import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../kernel/environment.ts'

// The list of events is in the order of happened_at, in which an event may come anywhere at any time. So blocks are counted as of offsets of
// the log: offsets are given out under a lock until the commit, and every event below them is visible to who reads them. Readers add the few
// events from these offsets on.

/** Events of a block. */
export const BLOCK = 256
/** Events that one statement counts: a fraction of a second. A deletion of events waits for it, and what waits for the deletion. */
const AT_ONCE = 100_000

// From the last block before all events that are not counted yet; from the first event when too many are not. Everything is read in one
// snapshot, and what the blocks were before only decides where the reading begins.
const CUT = `
with ends as materialized (
  select partition, next_offset from log_positions where environment = $1
), uncounted as materialized (
  select e.happened_at, e.id from event_counts c, ends p cross join lateral (
    select happened_at, id from events where environment = $1 and partition = p.partition and log_offset >= c.offsets[p.partition + 1]
    order by log_offset limit $3) e
  where c.environment = $1 and p.next_offset > c.offsets[p.partition + 1] limit $3
), earliest as materialized (
  select happened_at, id from uncounted order by happened_at, id limit 1
), base as materialized (
  select before, happened_at, id from event_blocks
  where environment = $1 and (select count(*) from uncounted) < $3 and (happened_at, id) <= (
    coalesce((select happened_at from earliest), 'infinity'), coalesce((select id from earliest), ''))
  order by happened_at desc, id desc limit 1
), numbered as (
  select happened_at, id, coalesce((select before from base), 0) + row_number() over in_order - 1 as n, lead(id) over in_order is null as is_last
  from (
    select happened_at, id from events where environment = $1
      and (happened_at, id) >= (coalesce((select happened_at from base), '-infinity'), coalesce((select id from base), ''))
    order by happened_at, id limit $3) s
  window in_order as (order by happened_at, id)
), cut as materialized (
  select happened_at, id, n, n % $2 = 0 as begins from numbered where n % $2 = 0 or is_last
), gone as (
  delete from event_blocks b where environment = $1
    and (happened_at, id) >= (coalesce((select happened_at from base), '-infinity'), coalesce((select id from base), ''))
    and (happened_at, id) not in (select happened_at, id from cut where begins)
), written as (
  insert into event_blocks as b (environment, before, happened_at, id) select $1, n, happened_at, id from cut where begins
  on conflict (environment, happened_at, id) do update set before = excluded.before where b.before <> excluded.before
), counted as (
  select coalesce((select before from base), 0) as before, coalesce((select max(n) + 1 from cut), 0) as total
)
insert into event_counts as c (environment, total, offsets)
select $1, case when total - before < $3 then total end, (select array_agg(next_offset order by partition) from ends) from counted
on conflict (environment) do update set total = excluded.total, offsets = excluded.offsets
returning total is not null as "isComplete", (select total from counted) as counted`

type Cut = { isComplete: boolean; counted: number }
type CutOptions = { block?: number; atOnce?: number; isStopped?: () => boolean }

/**
 * Cuts blocks up to the end of the list, some events in a transaction. Nothing is done while another process does the same, nor while the
 * environment is being emptied. It ends when it gets no further, as early events are appended as fast as it counts.
 */
export async function cutBlocks(
  pool: Pool,
  environment: Environment,
  { block = BLOCK, atOnce = AT_ONCE, isStopped = () => false }: CutOptions = {},
): Promise<void> {
  let before = 0
  while (!isStopped()) {
    const cut = await cutSome(pool, environment, block, atOnce)
    if (cut === null || cut.isComplete || cut.counted <= before) return
    before = cut.counted
  }
}

// A transaction that empties an environment holds its row when it deletes events, and the foreign keys of the blocks need that row: it
// comes before the lock here, too. Without sorts a plan reads in the order of an index and ends with the limit, whatever the statistics of
// the environment.
const LOCK_BLOCKS = `
select pg_try_advisory_xact_lock($1, e.id) as locked, set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)
from (select id from environments where id = $2 and reset_at is null for key share skip locked) e`

const cutSome = (pool: Pool, environment: Environment, block: number, atOnce: number): Promise<Cut | null> =>
  transaction(pool, async tx => {
    // A statement of its own: the next one sees all deletions that have waited for no lock.
    const locked = await tx.query<{ locked: boolean }>(LOCK_BLOCKS, [LOCK.eventBlocks, environment])
    if (!locked.rows[0]?.locked) return null
    const { rows } = await tx.query<Cut>(CUT, [environment, block, atOnce])
    return rows[0]!
  })

/** Cuts blocks beside the requests of a process. */
export type BlockCutting = {
  /** Does not wait. */
  cut: (environment: Environment) => void
  end: () => Promise<void>
}

/** One environment after the other: the lists are exact without it, and requests need the connections. */
export function blockCutting(pool: Pool, onError: (error: unknown, environment: Environment) => void): BlockCutting {
  const wanted = new Set<Environment>()
  let isEnded = false
  let cutting = Promise.resolve()
  return {
    cut(environment) {
      if (isEnded || wanted.has(environment)) return
      wanted.add(environment)
      cutting = cutting
        .then(() => cutBlocks(pool, environment, { isStopped: () => isEnded }))
        .catch(error => onError(error, environment))
        .finally(() => wanted.delete(environment))
    },
    async end() {
      isEnded = true
      await cutting
    },
  }
}

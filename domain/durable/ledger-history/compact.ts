import { LOCK } from '../../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import { LEDGER_KINDS } from './history.ts'

/** Counts by second become counts by hour after a day, and by day (UTC) after 90 days, both on the clock of the environment. */
const SECONDS_KEPT = `interval '24 hours'`
const HOURS_KEPT = `interval '2160 hours'`

const KINDS = `unnest(array[${LEDGER_KINDS.map(kind => `'${kind}'`).join(', ')}]) k(kind)`
// now() and not clock_timestamp(): only a stable time can be an index condition.
const edge = (unit: 'hour' | 'day', kept: string) => `date_trunc('${unit}', now() + e.clock_offset - ${kept}, 'UTC')`
const DAY_EDGE = edge('day', HOURS_KEPT)
const KEY = ['environment', 'kind', 'due_at', 'outcome', 'reason']
const ADD = `
  insert into ledger_compacted (environment, kind, span, due_at, outcome, reason, count)
  select environment, kind, span, date_trunc(span, due_at, 'UTC'), outcome, reason, sum(count) from spans
  group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  on conflict (environment, kind, span, due_at, outcome, reason) do update set count = ledger_compacted.count + excluded.count`

/** Moves at most `$1` counts of `table` that are older than `before` to the span of their age. */
const compact = (table: string, only: string, before: string) => `
with old as materialized (
  select h.* from environments e cross join ${KINDS} cross join lateral (
    select ${KEY.join(', ')} from ${table} where environment = e.id and kind = k.kind and ${only} and due_at < ${before}
    order by due_at limit $1) h where $2::int is null or e.id = $2 limit $1
), gone as (
  delete from ${table} h using old o where ${only} and ${KEY.map(name => `h.${name} = o.${name}`).join(' and ')} returning h.*
), spans as (
  select g.environment, g.kind, case when g.due_at < ${DAY_EDGE} then 'day' else 'hour' end as span, g.due_at, g.outcome, g.reason, g.count
  from gone g join environments e on e.id = g.environment
), added as (${ADD})
select count(*)::int as compacted from gone`

const SECONDS = compact('ledger_history', 'true', edge('hour', SECONDS_KEPT))
const HOURS = compact('ledger_compacted', `span = 'hour'`, DAY_EDGE)

/**
 * Compacts at most `batch` counts by second and `batch` by hour; returns how many. One process at a time: two could deadlock, because each
 * removes the spans that the other adds to.
 */
export const compactLedger = (pool: Pool, batch: number, environment: Environment | null): Promise<number> =>
  transaction(pool, async tx => {
    const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1, 0) as locked', [LOCK.compaction])
    if (!rows[0]!.locked) return 0
    const moved = async (from: Tx, text: string) => (await from.query<{ compacted: number }>(text, [batch, environment])).rows[0]!.compacted
    return (await moved(tx, SECONDS)) + (await moved(tx, HOURS))
  })

const spanAt = (time: string, shown: (span: 'hour' | 'day') => string, environment: string, kinds: string) =>
  `coalesce(${(['day', 'hour'] as const)
    .map(
      span => `(select ${shown(span)} from ledger_compacted
      where environment = ${environment} and kind = any (${kinds}) and span = '${span}' and due_at = date_trunc('${span}', ${time}::timestamptz, 'UTC')
        and due_at < ${time}::timestamptz limit 1)`,
    )
    .join(', ')}, ${time}::timestamptz)::text`

/** In SQL: the beginning of a window, moved to the beginning of the compacted span that it lies in: only there the counts are exact. */
export const outwardFrom = (time: string, environment: string, kinds: string) => spanAt(time, () => 'due_at', environment, kinds)
/** In SQL: the end of a window, moved to the end of the compacted span that it lies in. */
export const outwardTo = (time: string, environment: string, kinds: string) =>
  spanAt(time, span => `due_at + interval '${span === 'day' ? 24 : 1} hours'`, environment, kinds)

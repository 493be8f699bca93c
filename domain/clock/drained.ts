import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { LEDGER_KINDS, type LedgerKind } from '../ledger/kinds.ts'

export type FinalCounts = Record<LedgerKind, number>

/** How many things of each kind of the ledger have reached a final state so far, those that are no longer kept included. */
export async function finalCounts(db: Db, environment: Environment): Promise<FinalCounts> {
  const { rows } = await db.query<FinalCounts>(
    `with gone as (select kind, sum(count) as count from ledger_history where environment = $1 group by kind)
     select
       (select count(*) from report_runs where environment = $1 and finished_at is not null and kind = 'scheduled')
         + coalesce((select count from gone where kind = 'report_slots'), 0)::bigint as report_slots,
       (select count(*) from automation_runs where environment = $1 and finished_at is not null)
         + coalesce((select count from gone where kind = 'automation_runs'), 0)::bigint as automation_runs,
       (select count(*) from deliveries where environment = $1 and ended_at is not null)
         + coalesce((select count from gone where kind = 'deliveries'), 0)::bigint as deliveries,
       (select count(*) from exports where environment = $1 and status in ('done', 'failed') and report_run is null)
         + coalesce((select count from gone where kind = 'exports'), 0)::bigint as exports`,
    [environment],
  )
  return rows[0]!
}

/** What has reached it in between. A replay that opens a finished delivery again undoes nothing that was drained. */
export const drainedSince = (before: FinalCounts, after: FinalCounts): FinalCounts =>
  Object.fromEntries(LEDGER_KINDS.map(kind => [kind, Math.max(0, after[kind] - before[kind])])) as FinalCounts

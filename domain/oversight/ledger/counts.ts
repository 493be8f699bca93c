import type { Db } from '../../../store/connect.ts'
import { automationsWithRuns, UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { GROUPS_OF_ENVIRONMENT } from '../../durable/jobs/groups.ts'
import { OVERDUE_SECONDS } from '../../durable/jobs/job.ts'
import { outwardFrom, outwardTo } from '../../durable/ledger-history/compact.ts'
import type { LedgerKind } from '../../durable/ledger-history/history.ts'
import { OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import type { Environment } from '../../kernel/environment.ts'
import { EXPORT_REASON } from '../../reporting/exports/export.ts'
import { OVERDUE } from './overdue.ts'
import { UNTAKEN, type UntakenSlots } from './untaken.ts'

/** The jobs of a kind with the same outcome and reason. `outcome` null: they have not ended. */
export type LedgerGroup = { kind: LedgerKind; outcome: string | null; reason: string; count: number }
/** The overdue jobs of a kind; `at` and `id` are those of the oldest. */
export type OverdueJobs = { kind: LedgerKind; count: number; at: string; id: string | null }
/** The open deliveries whose integration is not active: outstanding, and never overdue. `at`: when the first of them was created. */
export type HeldDeliveries = { count: number; at: string | null }
/** `from`, `to`: the requested edges, moved outward to the edges of compacted time. */
export type LedgerCounts = {
  groups: LedgerGroup[]
  overdue: OverdueJobs[]
  held: HeldDeliveries
  untaken: UntakenSlots[]
  from: string
  to: string
}
/** [from, to) and the environment's time, with microseconds. */
export type LedgerWindow = { from: string; to: string; now: string }

const countSql = (kind: LedgerKind, from: string, open: string) => `
  select '${kind}' as kind, case when status not in ${open} then status end as outcome, coalesce(reason, '') as reason, count(*) as count
  from ${from} where '${kind}' = any ($4::text[]) and environment = $1 and created_at >= $2 and created_at < $3 group by status, reason`
const RUNS = `(${automationsWithRuns('$1')}) a join automation_runs r using (automation_id)`

const LEDGER = `
with recursive ${GROUPS_OF_ENVIRONMENT}, counted as (
    ${countSql('automation_runs', RUNS, UNFINISHED_RUN)}
    union all
    ${countSql('deliveries', 'deliveries', OPEN_DELIVERY)}
    union all
    select 'exports', case when status not in ('new', 'processing') then status end, coalesce(${EXPORT_REASON}, ''), count(*) as count from exports
    where 'exports' = any ($4::text[]) and environment = $1 and created_at >= $2 and created_at < $3 and report_run is null group by 2, 3
    union all
    select 'report_slots', case when status = 'finished' then outcome end, coalesce(reason, ''), count(*) as count from report_runs
    where 'report_slots' = any ($4::text[]) and environment = $1 and kind = 'scheduled' and slot >= $2 and slot < $3 group by 2, 3
    union all
    select kind, outcome, reason, sum(count)::bigint from ledger_history
    where environment = $1 and kind = any ($4::text[]) and due_at >= $2 and due_at < $3 group by kind, outcome, reason
    union all
    select kind, outcome, reason, sum(count)::bigint from ledger_compacted
    where environment = $1 and kind = any ($4::text[]) and span in ('hour', 'day') and due_at >= $2 and due_at < $3 group by kind, outcome, reason
  ),
  overdue as (${OVERDUE}  )
  select
    (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from counted c) as groups,
    (select coalesce(jsonb_agg(to_jsonb(l)), '[]') from (
      select kind, count(*) as count, min(at)::text as at, (array_agg(id order by at, id))[1] as id from overdue group by kind) l) as overdue,
    (select jsonb_build_object('count', count(*), 'at', min(v.created_at)::text) from deliveries v
      where 'deliveries' = any ($4::text[]) and v.environment = $1 and v.created_at >= $2 and v.created_at < $3 and v.status in ${OPEN_DELIVERY}
        and exists (select 1 from integrations i where i.number = v.integration and i.active <> 1 and i.deleted_at is null)) as held,
    ${UNTAKEN} as untaken,
    ${outwardFrom('$7', '$1', '$4')} as "from", ${outwardTo('$8', '$1', '$4')} as "to"`

/**
 * Counts the jobs of a window in one snapshot: a job that ends meanwhile, or whose row is deleted meanwhile, counts once. The counts are exact
 * when the edges of the window are those that the snapshot gives for `requested`.
 */
export async function countJobs(
  db: Db,
  environment: Environment,
  kinds: readonly LedgerKind[],
  { from, to, now }: LedgerWindow,
  requested: Pick<LedgerWindow, 'from' | 'to'>,
): Promise<LedgerCounts> {
  const { rows } = await db.query<LedgerCounts>(LEDGER, [environment, from, to, kinds, now, OVERDUE_SECONDS, requested.from, requested.to])
  return rows[0]!
}

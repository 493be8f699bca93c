import { UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { OF_GROUP } from '../../durable/jobs/groups.ts'
import { isWaiting } from '../../durable/jobs/sql.ts'
import type { LedgerKind } from '../../durable/ledger-history/history.ts'
import { OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'

// Whether runs and deliveries are overdue depends on their jobs: a run or delivery that waits has no due job, a paused run or a held delivery
// has a job that is due later, and a job with a live lease is being executed. The jobs are read group by group: up to Postgres 17 a look for the
// time alone reads the index entries of all jobs of the environment that wait.
const overdueSql = (kind: LedgerKind, due: string, table: string, at: string, open: string, most: number | null) => `
  select '${kind}' as kind, ${at} as at, t.id from groups g cross join lateral (
    select id, due_at from due d where ${OF_GROUP} and due_at < $5::timestamptz - make_interval(secs => $6) and ${isWaiting('d')}
    order by due_at ${most === null ? 'offset 0' : `limit ${most}`}) d
  cross join lateral (select * from ${table} where number = d.id limit 1) t
  where '${kind}' = any ($4::text[]) and g.kind = '${due}'
    and t.environment = $1 and t.status in ${open} and t.created_at >= $2 and t.created_at < $3`

/**
 * In SQL: kind, time and id of what is overdue in the environment $1, of the kinds $4 and the window [$2, $3), at the time $5 and after the
 * tolerance $6. It follows `GROUPS_OF_ENVIRONMENT`. Slots that no worker has taken are not among them. `most`: how many jobs of each group are
 * looked at, the oldest of them; null: all.
 */
export const overdue = (most: number | null) => `
    ${overdueSql('automation_runs', 'automation-run', 'automation_runs', 'coalesce(t.due_at, d.due_at)', UNFINISHED_RUN, most)}
      and not exists (select 1 from automations a where a.environment = $1 and a.id = t.automation_id and a.status = 'paused')
    union all
    ${overdueSql('deliveries', 'delivery', 'deliveries', 'coalesce(t.next_attempt_at, d.due_at)', OPEN_DELIVERY, most)}
      and exists (select 1 from integrations i where i.number = t.integration and i.active = 1)
    union all
    select 'exports', created_at, id from exports
    where 'exports' = any ($4::text[]) and environment = $1 and status in ('new', 'processing') and report_run is null
      and created_at >= $2 and created_at < $3 and created_at < $5::timestamptz - make_interval(secs => $6)
    union all
    select 'report_slots', slot, id from (
      select * from report_runs where environment = $1 and status <> 'finished' order by id offset 0) r
    where 'report_slots' = any ($4::text[]) and kind = 'scheduled' and slot >= $2 and slot < $3 and slot < $5::timestamptz - make_interval(secs => $6)
`
/** All of it. */
export const OVERDUE = overdue(null)

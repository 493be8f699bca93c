import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { LedgerKind } from './kinds.ts'

/** Promises that have come to the same. `outcome` null: not ended yet. */
export type Group = { kind: LedgerKind; outcome: string | null; reason: string; count: number }
/** Of one kind; `at` and `id` of the one that has waited longest. */
export type Late = { kind: LedgerKind; count: number; at: string; id: string | null }
/** The schedule of an active report, and the first of its slots that nobody has taken. */
export type Untaken = {
  next_slot: string
  send_at: string
  timezone: string
  cadence: string
  weekday: string | null
  day_of_month: number | null
  on_dst_gap: string
  on_dst_overlap: string
}
export type Counted = { groups: Group[]; late: Late[]; untaken: Untaken[] }
export type Window = { from: string; to: string; now: string; kinds: readonly LedgerKind[] }

/** Seconds after which what is due and not done is overdue. */
export const OVERDUE_SECONDS = 60

// A window's rows are found automation by automation (integration by integration): the lists' own index, so that no further one must be
// kept at every insert of the hottest tables. The distinct ones come from that index too, by one probe each.
const distinct = (name: string, table: string, column: string) => `${name}(id) as (
    (select ${column} from ${table} where environment = $1 order by ${column} limit 1)
    union all
    select (select ${column} from ${table} where environment = $1 and ${column} > p.id order by ${column} limit 1) from ${name} p where p.id is not null
  )`
const perParent = (kind: LedgerKind, parents: string, table: string, column: string, open: string) => `
  select '${kind}' as kind, c.outcome, c.reason, sum(c.count)::bigint as count from ${parents} p cross join lateral (
    select case when status not in (${open}) then status end as outcome, coalesce(reason, '') as reason, count(*) as count from ${table}
    where environment = $1 and ${column} = p.id and created_at >= $2 and created_at < $3 group by status, reason) c
  where '${kind}' = any ($4::text[]) group by c.outcome, c.reason`

// What is due of runs and deliveries is asked of their promises: of what waits for something else nothing is due, and what is paused or
// held is promised for later. While a worker has one in hand it is being done.
const late = (kind: LedgerKind, due: string, table: string, at: string, open: string) => `
  select '${kind}' as kind, ${at} as at, t.id from due d join ${table} t on t.number = d.id
  where '${kind}' = any ($4::text[]) and d.environment = $1 and d.kind = '${due}' and d.due_at < $5::timestamptz - make_interval(secs => $6)
    and (d.lease_until is null or d.lease_until < clock_timestamp())
    and t.environment = $1 and t.status in (${open}) and t.created_at >= $2 and t.created_at < $3`

const LEDGER = `
with recursive ${distinct('automations_with_runs', 'automation_runs', 'automation_id')},
  ${distinct('integrations_with_deliveries', 'deliveries', 'integration')},
  counted as (
    ${perParent('automation_runs', 'automations_with_runs', 'automation_runs', 'automation_id', `'pending', 'running', 'waiting'`)}
    union all
    ${perParent('deliveries', 'integrations_with_deliveries', 'deliveries', 'integration', `'pending', 'retrying'`)}
    union all
    select 'exports', case when status in ('done', 'failed') then status end, coalesce(error ->> 'code', ''), count(*) as count from exports
    where 'exports' = any ($4::text[]) and environment = $1 and created_at >= $2 and created_at < $3 and report_run is null group by 2, 3
    union all
    select 'report_slots', case when status = 'finished' then outcome end, coalesce(reason, ''), count(*) as count from report_runs
    where 'report_slots' = any ($4::text[]) and environment = $1 and kind = 'scheduled' and slot >= $2 and slot < $3 group by 2, 3
    union all
    select kind, outcome, reason, sum(count)::bigint from ledger_history
    where environment = $1 and kind = any ($4::text[]) and due_at >= $2 and due_at < $3 group by kind, outcome, reason
  ),
  late as (
    ${late('automation_runs', 'automation-run', 'automation_runs', 'coalesce(t.due_at, d.due_at)', `'pending', 'running', 'waiting'`)}
    union all
    ${late('deliveries', 'delivery', 'deliveries', 'coalesce(t.next_attempt_at, d.due_at)', `'pending', 'retrying'`)}
      and exists (select 1 from integrations i where i.number = t.integration and i.active = 1)
    union all
    select 'exports', created_at, id from exports
    where 'exports' = any ($4::text[]) and environment = $1 and status in ('new', 'processing') and report_run is null
      and created_at >= $2 and created_at < $3 and created_at < $5::timestamptz - make_interval(secs => $6)
    union all
    select 'report_slots', slot, id from report_runs
    where 'report_slots' = any ($4::text[]) and environment = $1 and kind = 'scheduled' and status <> 'finished'
      and slot >= $2 and slot < $3 and slot < $5::timestamptz - make_interval(secs => $6)
  )
  select
    (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from counted c) as groups,
    (select coalesce(jsonb_agg(to_jsonb(l)), '[]') from (
      select kind, count(*) as count, min(at)::text as at, (array_agg(id order by at, id))[1] as id from late group by kind) l) as late,
    (select coalesce(jsonb_agg(jsonb_build_object('next_slot', next_slot::text, 'send_at', send_at, 'timezone', timezone, 'cadence', cadence,
        'weekday', weekday, 'day_of_month', day_of_month, 'on_dst_gap', on_dst_gap, 'on_dst_overlap', on_dst_overlap)), '[]')
      from scheduled_reports
      where 'report_slots' = any ($4::text[]) and environment = $1 and status = 'active' and deleted_at is null
        and next_slot < $3 and next_slot <= $5) as untaken`

/**
 * What was promised for a window, as the rows stand in one snapshot: a promise that ends meanwhile, or whose row goes, counts once.
 * Times with microseconds; `now` is the environment's.
 */
export async function countPromises(db: Db, environment: Environment, { from, to, now, kinds }: Window): Promise<Counted> {
  const { rows } = await db.query<Counted>(LEDGER, [environment, from, to, kinds, now, OVERDUE_SECONDS])
  return rows[0]!
}

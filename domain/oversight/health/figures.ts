import type { Db } from '../../../store/connect.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from '../../durable/jobs/groups.ts'
import { OVERDUE_SECONDS } from '../../durable/jobs/job.ts'
import { isWaiting } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { jobKindOf } from '../../durable/jobs/workflow-run.ts'
import { LEDGER_KINDS } from '../../durable/ledger-history/history.ts'
import { DELIVERY_DUE, OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import { HELD_SECONDS } from '../../integrations/deliveries/held.ts'
import type { Environment } from '../../kernel/environment.ts'
import { EXPORT_WORKFLOW } from '../../reporting/exports/create.ts'
import { REPORT_SLOT_DUE } from '../../reporting/reports/report.ts'
import { CHARTS_WORKFLOW, DELIVERY_WORKFLOW, FILE_WORKFLOW, REPORT_WORKFLOW, UPLOAD_WORKFLOW } from '../../reporting/reports/run.ts'
import { overdue } from '../ledger/overdue.ts'
import { UNTAKEN, type UntakenSlots, untakenSlots } from '../ledger/untaken.ts'

const HEALTH_FIGURES = [
  'overdue',
  'late_timers',
  'held',
  'unread_events',
  'set_aside_events',
  'unremoved_files',
  'failed_report_runs',
  'marked_users',
  'set_aside_users',
  'store_pending',
  'store_set_aside',
  'store_unacknowledged',
  'store_alerts',
] as const
export type HealthFigureName = (typeof HEALTH_FIGURES)[number]

/** `oldest_seconds`: how long the first of them has waited; null: that is not known, or there is none. `parts`: by kind, consumer, store or alert. */
export type HealthFigure = {
  figure: HealthFigureName
  count: number
  oldest_seconds: number | null
  is_degraded: boolean
  parts: Record<string, number>
}
export type Health = { now: string; figures: HealthFigure[] }

/** To count more would take time while the database is busiest. */
const MOST_COUNTED = 10_000

/** From how many seconds of the first one on somebody should act; without it, from the first one on. */
const DEGRADED_AFTER: Partial<Record<HealthFigureName, number>> = {
  held: HELD_SECONDS,
  unread_events: OVERDUE_SECONDS,
  marked_users: OVERDUE_SECONDS,
  store_pending: OVERDUE_SECONDS,
}

const seconds = (at: string, now = 'clock_timestamp()') => `extract(epoch from ${now} - ${at})::float8`

/** Kinds of jobs that execute promises: those that are late are among the overdue ones, unless their automation or integration holds them. */
const OF_PROMISES = [
  AUTOMATION_RUN_DUE,
  DELIVERY_DUE,
  REPORT_SLOT_DUE,
  ...[EXPORT_WORKFLOW, REPORT_WORKFLOW, FILE_WORKFLOW, CHARTS_WORKFLOW, DELIVERY_WORKFLOW, UPLOAD_WORKFLOW].map(jobKindOf),
]
// The other timers and workflows: ends of subscriptions, queues of stores, releases, files to remove.
const TIMERS = `
  select 'late_timers', g.kind, d.count, ${seconds('d.at', 'n.now')} from groups g cross join n cross join lateral (
    select count(*)::int as count, min(due_at) as at from (
      select due_at from due w where ${OF_GROUP} and due_at < n.now - make_interval(secs => $6) and ${isWaiting('w')} order by due_at limit ${MOST_COUNTED}) o) d
  where g.kind not in (${OF_PROMISES.map(kind => `'${kind}'`).join(', ')}) and d.count > 0`

const PARTS = [
  `select 'overdue', kind, count(*)::int, ${seconds('min(at)', 'max(n.now)')} from overdue cross join n group by kind`,
  TIMERS,
  `select 'held', i.id, w.count, ${seconds('greatest(i.held_since, w.at)', 'n.now')} from integrations i cross join n cross join lateral (
     select count(*)::int as count, min(created_at) as at from (
       select created_at from deliveries where integration = i.number and status in ${OPEN_DELIVERY} order by number limit ${MOST_COUNTED}) o) w
   where i.environment = $1 and i.active = 2 and i.deleted_at is null and w.count > 0`,
  `select 'unread_events', c.consumer, sum(l.next_offset - c.next_offset)::bigint, coalesce(max(${seconds('o.received_at', 'n.now')}), 0) from log_consumers c cross join n
     join log_positions l on l.environment = c.environment and l.partition = c.partition and l.next_offset > c.next_offset
     left join lateral (select received_at from events
       where environment = c.environment and partition = c.partition and log_offset >= c.next_offset order by log_offset limit 1) o on true
   where c.environment = $1 group by c.consumer`,
  `select 'set_aside_events', k.consumer, s.count, ${seconds('s.at')} from unnest(array['automations', 'integrations']) k(consumer) cross join lateral (
     select count(*)::int as count, min(set_aside_at) as at from (
       select set_aside_at from set_aside_events where environment = $1 and consumer = k.consumer and replayed_at is null
       order by set_aside_at limit ${MOST_COUNTED}) o) s where s.count > 0`,
  `select 'unremoved_files', '', count(*)::int, ${seconds('min(overdue_since)')} from (
     select environment, overdue_since from exports where overdue_since is not null order by overdue_since offset 0) x
   where environment = $1 having count(*) > 0`,
  `select 'failed_report_runs', r.report_id, count(*)::int, null from n cross join lateral (
     select report_id from report_runs where environment = $1 and finished_at > n.now - interval '24 hours' and kind = 'scheduled' and outcome = 'failed'
     order by finished_at limit ${MOST_COUNTED}) r
     cross join lateral (select deleted_at from scheduled_reports p where p.environment = $1 and p.id >= r.report_id and p.id <= r.report_id
       order by p.id limit 1) p where p.deleted_at is null group by r.report_id`,
  `select 'marked_users', '', m.count, (select ${seconds('since')} from stale_users where environment = $1 order by since, user_no limit 1)
   from (select count(*)::int as count from (select from stale_users where environment = $1 limit ${MOST_COUNTED}) o) m where m.count > 0`,
  `select 'set_aside_users', '', m.count, null
   from (select count(*)::int as count from (select from set_aside_users where environment = $1 limit ${MOST_COUNTED}) o) m where m.count > 0`,
  `select 'store_pending', s.platform, w.count, ${seconds('w.at')} from own cross join stores s cross join lateral (
     select count(*)::int as count, min(received_at) as at from (
       select received_at from store_inbox where project = own.project and platform = s.platform and state = 'pending' and coalesce(environment, own.default_environment) = $1
       order by received_at limit ${MOST_COUNTED}) o) w where w.count > 0`,
  `select 'store_set_aside', s.platform, w.count, ${seconds('w.at')} from own cross join stores s cross join lateral (
     select count(*)::int as count, min(received_at) as at from (
       select received_at from store_inbox where project = own.project and platform = s.platform and state = 'set_aside' and environment = $1
         limit ${MOST_COUNTED}) o) w where w.count > 0`,
  `select 'store_unacknowledged', '', w.count, ${seconds('w.at')} from (
     select count(*)::int as count, min(created_at) as at from (
       select created_at from store_acknowledgements where environment = $1 and done_at is null and created_at < clock_timestamp() - interval '24 hours'
       order by created_at limit ${MOST_COUNTED}) o) w where w.count > 0`,
  `select 'store_alerts', a.alert, count(*)::int, ${seconds('min(a.first_at)')} from own join store_alerts a on a.project = own.project
     and a.alert in ('store_credentials', 'push_missing') and (a.environment = $1 or a.environment = 0 and own.default_environment = $1) group by a.alert`,
]

// A notification that names no environment yet, and a store that has no environments of its own, are those of production.
const STATEMENT = `
  with recursive ${GROUPS_OF_ENVIRONMENT}, n as materialized (select environment_now($1) as now),
  own as materialized (select e.project, p.id as default_environment from environments e join environments p on p.project = e.project and p.kind = 'production'
    where e.id = $1), stores(platform) as (values ('apple'), ('google'), ('stripe'), ('paddle')),
  overdue as (${overdue(MOST_COUNTED)}), parts(figure, part, count, seconds) as (${PARTS.join('\n union all ')})
  select (select coalesce(jsonb_agg(to_jsonb(p)), '[]') from parts p) as parts, ${UNTAKEN} as untaken`

type Part = { figure: HealthFigureName; part: string; count: number; seconds: number | null }

/** What is late or was set aside in one environment, as `/readyz` counts it over all of them. `overdue` is that of the ledger, of all time and up to a limit. */
export async function readHealth(db: Db, environment: Environment): Promise<Health> {
  const clock = await db.query<{ now: string }>('select environment_now($1)::text as now', [environment])
  const { now } = clock.rows[0]!
  const { rows } = await db.query<{ parts: Part[]; untaken: UntakenSlots[] }>({
    name: 'health-of-environment',
    text: STATEMENT,
    values: [environment, '-infinity', 'infinity', LEDGER_KINDS, now, OVERDUE_SECONDS],
  })
  const { parts, untaken } = rows[0]!
  return {
    now,
    figures: HEALTH_FIGURES.map(figure =>
      figureOf(
        figure,
        [...parts, ...untakenPart(untaken, now)].filter(part => part.figure === figure),
      ),
    ),
  }
}

/** Slots that no worker has taken. */
function untakenPart(untaken: UntakenSlots[], now: string): Part[] {
  const window = { from: '1970-01-01T00:00:00Z', to: new Date(Date.parse(now) - OVERDUE_SECONDS * 1000).toISOString(), now }
  const slots = untaken.flatMap(report => untakenSlots(report, window))
  const wait = (Date.parse(now) - Math.min(...slots)) / 1000
  return slots.length === 0 ? [] : [{ figure: 'overdue', part: 'report_slots', count: slots.length, seconds: wait }]
}

function figureOf(figure: HealthFigureName, found: Part[]): HealthFigure {
  const parts: Record<string, number> = {}
  for (const { part, count } of found) if (part !== '') parts[part] = (parts[part] ?? 0) + count
  const count = found.reduce((sum, part) => sum + part.count, 0)
  const waits = found.flatMap(part => (part.seconds === null ? [] : [part.seconds]))
  const oldest = waits.length === 0 ? null : Math.max(0, ...waits)
  const after = DEGRADED_AFTER[figure]
  const is_degraded = count > 0 && (after === undefined || (oldest ?? 0) > after)
  return { figure, count, oldest_seconds: oldest === null ? null : Math.round(oldest), is_degraded, parts }
}

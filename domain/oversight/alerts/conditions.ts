import type { Db } from '../../../store/connect.ts'
import { OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import { HELD_SECONDS } from '../../integrations/deliveries/held.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { AlertKind } from './kinds.ts'

/** A condition that raises an alert now. `last_at`: with microseconds; it increases when the condition occurs again. */
export type AlertCondition = {
  environment: Environment
  kind: AlertKind
  holder: string
  about: string
  title: string | null
  count: number
  last_at: string
  detail: string | null
}

/** The most conditions of one holder that are counted. To count more would take time when the service is in trouble. */
const MOST_COUNTED = 10_000
/** The newest runs of a report among which its last ended one is looked for. Others are tests and skipped slots. */
const RUNS_READ = 50

/** A single event counts for a day: no operator has to confirm it. */
const DAY = `interval '24 hours'`

// Each statement returns environment, kind, holder, about, title, count, last_at, detail. `e`: the environments to check.

const INTEGRATIONS_IN_ERROR = `
  select e.id, 'integration_error', i.id, '', i.title, 1, coalesce(i.held_since, i.updated_at), i.last_error_message
  from e join integrations i on i.environment = e.id where i.active = 2 and i.deleted_at is null`

const HELD = `
  select e.id, 'integration_held', i.id, '', i.title, w.open, i.held_since, i.last_error_message
  from e join integrations i on i.environment = e.id cross join lateral (
    select count(*)::int as open, min(created_at) as first_at from (
      select created_at from deliveries where integration = i.number and status in ${OPEN_DELIVERY} order by number limit ${MOST_COUNTED}) o) w
  where i.active = 2 and i.deleted_at is null and greatest(i.held_since, w.first_at) < e.now - make_interval(secs => ${HELD_SECONDS}) and w.open > 0`

const EXHAUSTED = `
  select e.id, 'deliveries_exhausted', i.id, '', i.title, g.count, g.last_at, i.last_error_message
  from e join integrations i on i.environment = e.id cross join lateral (
    select count(*)::int as count, max(ended_at) as last_at from (
      select ended_at from deliveries where environment = e.id and integration = i.number and status = 'failed' and reason in ('exhausted', 'expired')
        and ended_at > e.now - ${DAY} order by ended_at desc limit ${MOST_COUNTED}) d) g
  where i.deleted_at is null and g.count > 0`

const REPORTS = `
  select e.id, 'report_' || l.outcome, r.id, '', r.report_name, 1, l.finished_at, l.reason
  from e join scheduled_reports r on r.environment = e.id cross join lateral (
    select outcome, finished_at, reason from (
      select kind, outcome, finished_at, reason, created_at, id from report_runs where environment = e.id and report_id = r.id
      order by created_at desc, id desc limit ${RUNS_READ}) n
    where kind = 'scheduled' and outcome in ('delivered', 'empty', 'withheld', 'failed') order by created_at desc, id desc limit 1) l
  where r.deleted_at is null and r.status = 'active' and l.outcome in ('failed', 'withheld')`

const EXPORTS = `
  select e.id, 'export_failed', e.kind, '', null, x.count, x.last_at, x.detail from e cross join lateral (
    select count(*)::int as count, max(failed_at) as last_at, (array_agg(error ->> 'message' order by failed_at desc))[1] as detail from (
      select failed_at, error from exports where environment = e.id and failed_at > e.now - ${DAY} and report_run is null
      order by failed_at desc limit ${MOST_COUNTED}) f) x
  where x.count > 0`

/** An alert of both environments of a project is that of production. */
const STORE_ALERTS = `
  select e.id, 'store_alert', a.platform, a.alert, null, count(*)::int, max(a.first_at), null
  from e join store_alerts a on a.project = e.project and (a.environment = e.id or a.environment = 0 and e.kind = 'production')
  group by e.id, a.platform, a.alert`

const UNACKNOWLEDGED = `
  select e.id, 'store_alert', 'google', 'unacknowledged', null, u.count, u.last_at, null from e cross join lateral (
    select count(*)::int as count, max(created_at) as last_at from (
      select created_at from store_acknowledgements where environment = e.id and done_at is null and created_at < clock_timestamp() - ${DAY}
      order by created_at desc limit ${MOST_COUNTED}) o) u
  where u.count > 0`

// `environment` stands in the order, too: an index has the rows of no environment in order only by both.
const newestSetAside = (whose: string) => `(
      select id, received_at, reason from store_inbox where project = e.project and platform = s.platform and ${whose} and state = 'set_aside'
      order by environment desc, id desc limit ${MOST_COUNTED})`

const NOTIFICATIONS = `
  select e.id, 'store_notifications_set_aside', s.platform, '', null, n.count, n.last_at, n.reason
  from e cross join unnest(array['apple', 'google', 'stripe', 'paddle']) s(platform) cross join lateral (
    select count(*)::int as count, max(received_at) as last_at, (array_agg(reason order by id desc))[1] as reason from (
      select * from (${newestSetAside('environment = e.id')} union all ${newestSetAside(`environment is null and e.kind = 'production'`)}) b
      order by id desc limit ${MOST_COUNTED}) w) n
  where n.count > 0`

const EVENTS = `
  select e.id, 'events_set_aside', c.consumer, '', null, s.count, s.last_at, s.error
  from e cross join unnest(array['automations', 'integrations']) c(consumer) cross join lateral (
    select count(*)::int as count, max(set_aside_at) as last_at, (array_agg(error order by set_aside_at desc))[1] as error from (
      select set_aside_at, error from set_aside_events where environment = e.id and consumer = c.consumer and replayed_at is null
      order by set_aside_at desc limit ${MOST_COUNTED}) w) s
  where s.count > 0`

const ALL = [INTEGRATIONS_IN_ERROR, HELD, EXHAUSTED, REPORTS, EXPORTS, STORE_ALERTS, UNACKNOWLEDGED, NOTIFICATIONS, EVENTS]

const CONDITIONS = `
with e as materialized (select id, project, kind, clock_timestamp() + clock_offset as now from environments where id = any ($1::int[])),
found (environment, kind, holder, about, title, count, last_at, detail) as (${ALL.join('\n  union all\n')})
select environment, kind, holder, about, title, count, last_at::text as last_at, left(detail, 1000) as detail from found`

/** The conditions that raise alerts in these environments. */
export async function readConditions(db: Db, environments: readonly Environment[]): Promise<AlertCondition[]> {
  return (await db.query<AlertCondition>({ name: 'alert-conditions', text: CONDITIONS, values: [environments] })).rows
}

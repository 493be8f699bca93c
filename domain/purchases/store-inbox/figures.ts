import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/**
 * Notifications that are not worked on yet. `oldest_seconds`: how long the first of them has waited; `late_seconds`: the first of those that may be
 * worked on, because their store does not refuse requests for a while.
 */
export type Pending = { platform: StorePlatform; pending: number; oldest_seconds: number; late_seconds: number }
/** `seconds` since the last push of a connected store, of those that are kept; null: none. */
export type LastPush = { project: number; platform: StorePlatform; environment: EnvironmentKind; seconds: number | null }

/**
 * `setAside`: notifications that could not be read or applied. `unacknowledged`: purchases of Google Play that are not acknowledged a day after they got
 * their owner. `alerts`: stores with an alert that an operator should see at once.
 */
export type StoreFigures = {
  pending: Pending[]
  setAside: { platform: StorePlatform; notifications: number }[]
  unacknowledged: number
  alerts: { alert: string; stores: number }[]
}

/** Of one store of a project. To count more would take time while the database is busiest. */
const MOST_COUNTED = 10_000

// The budget of Google is that of production: its notifications tell no environment. Paddle's is one for all projects (project 0).
const PENDING = `
with resting as materialized (select project, platform, environment from store_budgets where rests_until > clock_timestamp())
select c.platform, sum(p.pending)::int as pending, max(p.oldest_seconds)::float8 as oldest_seconds, coalesce(max(p.late_seconds), 0)::float8 as late_seconds
from store_configs c join environments e on e.project = c.project and e.kind = 'production' cross join lateral (
  select count(*) as pending, extract(epoch from clock_timestamp() - min(received_at)) as oldest_seconds,
    extract(epoch from clock_timestamp() - min(received_at) filter (where not rests)) as late_seconds
  from (
    select received_at, exists (
      select from resting r where r.platform = c.platform and (r.project = 0 or r.project = c.project
        and r.environment = case when c.platform = 'google' then e.id else coalesce(i.environment, e.id) end)) as rests
    from store_inbox i where i.project = c.project and i.platform = c.platform and i.state = 'pending' order by i.received_at limit ${MOST_COUNTED}) w) p
where p.pending > 0 group by c.platform order by c.platform`

const SET_ASIDE = `
select s.platform, count(*)::int as notifications from unnest(array['apple', 'google', 'stripe', 'paddle']) s(platform) cross join lateral (
  select from store_inbox i where i.platform = s.platform and i.state = 'set_aside' limit ${MOST_COUNTED}) i
group by s.platform order by s.platform`

const UNACKNOWLEDGED = `select count(*)::int as count from (
  select from store_acknowledgements where done_at is null and created_at < clock_timestamp() - interval '24 hours' limit ${MOST_COUNTED}) a`

const ALERTS = `select alert, count(*)::int as stores from store_alerts where alert in ('store_credentials', 'push_missing') group by alert order by alert`

export async function readStoreFigures(db: Db): Promise<StoreFigures> {
  const pending = await db.query<Pending>({ name: 'pending-notifications-of-stores', text: PENDING })
  const setAside = await db.query<StoreFigures['setAside'][number]>({ name: 'set-aside-notifications-of-stores', text: SET_ASIDE })
  const unacknowledged = await db.query<{ count: number }>({ name: 'unacknowledged-purchases', text: UNACKNOWLEDGED })
  const alerts = await db.query<StoreFigures['alerts'][number]>({ name: 'alerts-of-stores', text: ALERTS })
  return { pending: pending.rows, setAside: setAside.rows, unacknowledged: unacknowledged.rows[0]!.count, alerts: alerts.rows }
}

const pushed = (environment: string) => `(select i.received_at from store_inbox i where i.project = s.project and i.platform = s.platform
  and i.source = 'push' and i.environment ${environment} order by i.received_at desc limit 1)`

/**
 * In SQL: when the store of a sweep `s` has pushed last; null: never. One look into the index, for Google three: its pushes tell no environment, until
 * the purchase is known.
 */
export const LAST_PUSH = `case s.platform when 'google' then greatest(${pushed('= s.environment')}, ${pushed('is null')},
    ${pushed(`= (select id from environments where project = s.project and kind = 'sandbox')`)}) else ${pushed('= s.environment')} end`

const LAST_PUSHES = `
select s.project, s.platform, e.kind as environment, extract(epoch from clock_timestamp() - ${LAST_PUSH})::float8 as seconds
from store_sweeps s join environments e on e.id = s.environment join store_configs c on c.project = s.project and c.platform = s.platform and c.enabled
where s.project = coalesce($1, s.project) order by s.project, s.platform, e.kind`

/** When each connected store has pushed last. `project` null: of all. */
export async function lastPushes(db: Db, project: number | null = null): Promise<LastPush[]> {
  return (await db.query<LastPush>({ name: 'last-pushes-of-stores', text: LAST_PUSHES, values: [project] })).rows
}

import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'
import { STORE_OF_QUEUE } from './queues.ts'

type InboxScope = { platform: StorePlatform; environment: EnvironmentKind | null }

/**
 * The counts of a project's inbox for one store and environment; null: notifications do not state the environment, and nothing was fetched
 * from the store yet.
 */
export type InboxCounts = InboxScope & { lastPushAt: string | null; pending: number; oldestPendingAt: string | null; setAside: number }

export async function inboxCounts(db: Db, project: number): Promise<InboxCounts[]> {
  const { rows } = await db.query<InboxCounts>(
    `select i.platform, e.kind as environment, max(i.received_at) filter (where i.source = 'push') as "lastPushAt",
       count(*) filter (where i.state = 'pending')::int as pending, min(i.received_at) filter (where i.state = 'pending') as "oldestPendingAt",
       count(*) filter (where i.state = 'set_aside')::int as "setAside"
     from store_inbox i left join environments e on e.id = i.environment where i.project = $1 group by 1, 2`,
    [project],
  )
  return rows
}

/** Times at which something last succeeded; `failure`: of the last attempt since. */
export type StoreTimes = InboxScope & { at: string; failure: string | null }

export async function lastSweeps(db: Db, project: number): Promise<StoreTimes[]> {
  const { rows } = await db.query<StoreTimes>(
    `select s.platform, e.kind as environment, s.succeeded_at as at, s.failure
     from store_sweeps s join environments e on e.id = s.environment where s.project = $1`,
    [project],
  )
  return rows
}

export async function lastTests(db: Db, project: number): Promise<StoreTimes[]> {
  const { rows } = await db.query<StoreTimes>(
    `select t.platform, e.kind as environment, t.arrived_at as at, null::text as failure
     from store_tests t left join environments e on e.id = t.environment where t.project = $1`,
    [project],
  )
  return rows
}

/** `about`: a name of the store's; empty: none. `lineage`: its row number, where it is one. */
export type RaisedAlert = InboxScope & { alert: string; about: string; firstAt: string; lastAt: string; lineage: number | null }

/** SQL: the number of the lineage that a store names so. */
const lineageNamed = (platform: string, name: string, environment: string, project: string) => `(
  select x.id from lineages x join environments xe on xe.id = x.environment
  where xe.project = ${project} and x.platform = ${STORE_OF_QUEUE(platform)} and md5(x.lineage) = md5(${name})
    and coalesce(nullif(${environment}, 0), x.environment) = x.environment order by x.id limit 1)`

export async function raisedAlerts(db: Db, project: number, limit: number): Promise<RaisedAlert[]> {
  const { rows } = await db.query<RaisedAlert>(
    `select a.platform, e.kind as environment, a.alert, a.about, a.first_at as "firstAt", a.last_at as "lastAt",
       case when a.about <> '' then ${lineageNamed('a.platform', 'a.about', 'a.environment', 'a.project')} end as lineage
     from store_alerts a left join environments e on e.id = a.environment where a.project = $1
     order by a.platform, a.alert, a.last_at desc limit $2`,
    [project, limit],
  )
  return rows
}

export type OpenAcknowledgements = { environment: EnvironmentKind; count: number; oldestAt: string }

export async function openAcknowledgements(db: Db, project: number): Promise<OpenAcknowledgements[]> {
  const { rows } = await db.query<OpenAcknowledgements>(
    `select e.kind as environment, count(*)::int as count, min(a.created_at) as "oldestAt"
     from store_acknowledgements a join environments e on e.id = a.environment
     where e.project = $1 and a.done_at is null group by 1 order by 1`,
    [project],
  )
  return rows
}

export type FailingQueue = InboxScope & { name: string; lineage: number | null; attempts: number; since: string; reason: string | null }

/** Queues whose store gave no answer, the longest failing first. */
export async function failingQueues(db: Db, project: number, limit: number): Promise<FailingQueue[]> {
  const { rows } = await db.query<FailingQueue>(
    `select l.platform, e.kind as environment, l.name, l.attempts, l.failing_since as since, l.reason,
       ${lineageNamed('l.platform', 'l.name', 'l.environment', 'l.project')} as lineage
     from store_lanes l left join environments e on e.id = l.environment
     where l.project = $1 and l.failing_since is not null order by l.failing_since, l.id limit $2`,
    [project, limit],
  )
  return rows
}

/** A notification as it is shown: never its body. */
export type ShownNotification = InboxScope & {
  id: number
  notificationId: string
  type: string
  source: string
  receivedAt: string
  state: string
  attempts: number
  reason: string | null
}

const SHOWN = `i.id, i.platform, e.kind as environment, i.notification_id as "notificationId", concat_ws(' ', i.type, i.subtype) as type, i.source,
  i.received_at as "receivedAt", i.state, i.attempts, i.reason from store_inbox i left join environments e on e.id = i.environment`

/** The rows that were set aside, the newest first. */
export async function setAsideNotifications(db: Db, project: number, limit: number): Promise<ShownNotification[]> {
  const { rows } = await db.query<ShownNotification>(
    `select ${SHOWN} where i.project = $1 and i.state = 'set_aside' order by i.id desc limit $2`,
    [project, limit],
  )
  return rows
}

/** The rows of queues, the newest first. */
export async function notificationsOfQueues(db: Db, queues: number[], limit: number): Promise<ShownNotification[]> {
  const { rows } = await db.query<ShownNotification>(`select ${SHOWN} where i.lane = any ($1::bigint[]) order by i.id desc limit $2`, [
    queues,
    limit,
  ])
  return rows
}

import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { PLATFORMS } from '../../kernel/platform.ts'

export const SEARCHED_KINDS = [
  'customer',
  'event',
  'automation',
  'automation_run',
  'integration',
  'delivery',
  'export',
  'scheduled_report',
  'report_run',
] as const
export type SearchedKind = (typeof SEARCHED_KINDS)[number]

/** `parent`: the id of the integration of a delivery. `status`, `more`: what tells the thing from others of its title. */
export type Found = {
  kind: SearchedKind
  id: string
  title: string | null
  status: string | null
  more: string | null
  parent: string | null
}

/** Results of one search, and what each of its reads returns at most. */
const MOST = 20

// $1: the environment, $2: the text, $3: the kinds. Each read is a range in the order of one index, which no other index has: a plan without
// statistics takes that one, and what a text of one letter finds is not read further than the results need.

const byId = (kind: SearchedKind, table: string, shown: string, only = 'true') => `
  select * from (select '${kind}' as kind, t.id, ${shown} from (
    select * from ${table} where environment = $1 and id >= $2 and id <= $2 order by id limit 1) t where ${only}) ${kind}
  where '${kind}' = any ($3::text[])`
const nameOf = (table: string, column: string, id: string) =>
  `(select ${column} from ${table} n where n.environment = $1 and n.id >= ${id} and n.id <= ${id} order by n.id limit 1)`
const INTEGRATION = '(select o from integrations o where o.number = t.integration)'

const THINGS = [
  byId('event', 'events', `t.name as title, null as status, t.user_id as more, null as parent`),
  byId('automation', 'automations', `t.name as title, t.status, null as more, null as parent`),
  byId(
    'automation_run',
    'automation_runs',
    `${nameOf('automations', 'n.name', 't.automation_id')} as title, t.status, t.event_name as more, null as parent`,
  ),
  byId(
    'integration',
    'integrations',
    `t.title, (array['inactive', 'active', 'error'])[t.active + 1] as status, t.slug as more, null as parent`,
    't.deleted_at is null',
  ),
  byId('delivery', 'deliveries', `(${INTEGRATION}).title, t.status, t.event_name as more, (${INTEGRATION}).id as parent`),
  byId('export', 'exports', `t.type as title, t.status, t.format as more, null as parent`),
  byId(
    'scheduled_report',
    'scheduled_reports',
    `t.report_name as title, t.status, t.cadence as more, null as parent`,
    't.deleted_at is null',
  ),
  byId(
    'report_run',
    'report_runs',
    `${nameOf('scheduled_reports', 'n.report_name', 't.report_id')} as title, coalesce(t.outcome, t.status) as status,
     to_char(t.slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as more, t.report_id as parent`,
  ),
]

// Property values have at most 120 bytes, and ids 256 characters: no value that begins with the text sorts after it and so many of the last code
// point. Both sides are lowered by the database, each under the collation of its column.
const CEILING = `repeat(U&'\\+10FFFF', 256)`
/** The whole value comes first: it is the first one of the range. */
const prefixed = (n: number, column: string, text: string, only: string) => `
  (select case when lower(${column}) collate "C" = ${text} then 0 else ${n} end as rank, id from users where environment = $1 and ${only} and lower(${column}) collate "C" >= ${text}
     and lower(${column}) collate "C" < ${text} || ${CEILING} order by lower(${column}) collate "C" limit ${MOST})`
const inProperty = (n: number, key: string) => prefixed(n, `properties ->> '${key}'`, 'lower($2::text)', `properties ? '${key}'`)
const STORES = `unnest('{app_store,play_store,stripe,paddle}'::text[]) s(platform)`

const PEOPLE = `
  ${prefixed(1, 'id', 'lower($2::text collate "C")', 'true')}
  union all ${prefixed(2, 'identity_id', 'lower($2::text collate "C")', 'identity_id is not null')}
  union all ${inProperty(3, '_q_email')}
  union all ${inProperty(4, '_q_custom_user_id')}
  union all ${inProperty(5, '_q_name')}
  union all select 0, p.user_id from ${STORES} cross join lateral (
    select user_id from purchases where environment = $1 and platform = s.platform and coalesce(transaction_id, order_id) >= $2
      and coalesce(transaction_id, order_id) <= $2 order by coalesce(transaction_id, order_id) limit 1) p where p.user_id is not null
  union all select 0, l.user_id from ${STORES} cross join lateral (
    select user_id from lineages where environment = $1 and platform = s.platform and md5(lineage) >= md5($2) and md5(lineage) <= md5($2)
    order by md5(lineage) limit 1) l where l.user_id is not null
  union all select 0, e.user_id from unnest($4::text[]) k(key) cross join lateral (
    select user_id from events where environment = $1 and transaction_key >= k.key and transaction_key <= k.key
    order by transaction_key limit 1) e where e.user_id is not null`

const CUSTOMERS = `
  select * from (
    select 'customer' as kind, u.id, coalesce(nullif(u.properties ->> '_q_name', ''), nullif(u.properties ->> '_q_email', ''), u.identity_id, u.id) as title,
      u.status, coalesce(nullif(u.properties ->> '_q_email', ''), u.identity_id) as more, null as parent
    from (select id, min(rank) as rank from (${PEOPLE}) found where 'customer' = any ($3::text[]) group by id order by min(rank), id limit ${MOST}) p
    cross join lateral (select * from users where environment = $1 and id >= p.id and id <= p.id order by id limit 1) u
    order by p.rank, u.id) customers`

const STATEMENT = `${THINGS.join(' union all ')} union all ${CUSTOMERS} limit ${MOST}`

/** The prefixes of the transaction keys of events. */
const KEY_PREFIXES = ['', ...PLATFORMS]

/** What has the text as its id, then the people whom it names: by the beginning of an id, e-mail address or name, or by a transaction of theirs. */
export async function search(listing: Db, environment: Environment, text: string, kinds: readonly SearchedKind[]): Promise<Found[]> {
  const keys = KEY_PREFIXES.map(prefix => `${prefix}:${text}`)
  return (await listing.query<Found>({ name: 'search', text: STATEMENT, values: [environment, text, kinds, keys] })).rows
}

// What conditions ask about the user `u`, in SQL; `evaluate.ts` has the same for one user in memory.
import { type RawBuilder, sql } from 'kysely'
import type { Environment } from '../environment.ts'
import { COUNTS_AS, GIVING_ACCESS, RENEWABLE } from './evaluate.ts'
import { entitlementOf, propertyOf, SUBSCRIPTION_STATES, type SubscriptionState } from './metrics.ts'

export type Is = RawBuilder<boolean>
/** `now`: one instant for the whole statement. */
export type Scope = { environment: Environment; now: RawBuilder<string> }

export const when = (expression: Is, wanted: boolean): Is => (wanted ? expression : sql`not (${expression})`)
export const all = (parts: readonly Is[]): Is => (parts.length === 0 ? sql`true` : sql`(${sql.join(parts, sql` and `)})`)

/** Null for a user without a value. */
export function textSql(metric: string): RawBuilder<string | null> {
  switch (metric) {
    case 'client_uid':
      return sql`u.id`
    case 'custom_uid':
      return sql`(u.properties ->> '_q_custom_user_id')`
    case 'client_advertiser_id':
      return sql`coalesce(nullif(u.properties ->> '_q_advertising_id', ''), u.advertiser_id)`
    case 'target_platform':
      return sql`u.platform`
    case 'country':
      return sql`upper(u.country collate "C")`
    case 'app_version':
      return sql`coalesce(u.app_version, nullif(u.properties ->> '_q_app_version', ''))`
    default:
      return sql`(u.properties ->> ${propertyOf(metric)}::text)`
  }
}

/**
 * The leading digits of each part as numbers, without zeros at the end, as `versionParts` has them. Plain versions take a way that is
 * ten times as fast.
 */
export const versionSql = (version: RawBuilder<string | null>): RawBuilder<string[] | null> => sql`case
when ${version} ~ '^[0-9]+([.][0-9]+)*$' then string_to_array(regexp_replace(${version}, '(^|[.])0+([.]0+)*$', ''), '.')::numeric[]
when ${version} is not null then (
  select coalesce(array_agg(p.number order by p.n) filter (where p.n <= p.last), '{}')
  from (
    select t.n, coalesce(substring(t.part from '^[0-9]+'), '0')::numeric as number, max(t.n) filter (where t.part ~ '^0*[1-9]') over () as last
    from unnest(string_to_array(${version}, '.')) with ordinality t(part, n)
  ) p
) end`

// One probe of an index per user, whatever the planner believes: as a join (which EXISTS becomes) it would compare every user with every
// row as long as the tables have no statistics, 3 s for 250 users.
const some = (rows: RawBuilder<unknown>): Is => sql`((select 1 ${rows} limit 1) is not null)`

const subscription = ({ environment }: Scope, which: Is): Is =>
  some(sql`from subscriptions s where s.environment = ${environment}::int and s.user_id = u.id and (${which})`)

// subscription_state() written out: a call costs 50 µs, and there is one per subscription.
const stateIn = ({ now }: Scope, states: readonly string[]): Is =>
  sql`s.states[(select count(*)::int from unnest(s.state_at) a where a <= ${now})] = any (${states}::text[])`

export function subscriptionStateSql(scope: Scope, wanted: SubscriptionState): Is {
  const counts = (state: SubscriptionState): Is[] => {
    if (state === 'none') return []
    const is = stateIn(scope, COUNTS_AS[state])
    return [state === 'expired' ? sql`${is} and s.ever_paid` : is]
  }
  const better = SUBSCRIPTION_STATES.slice(0, SUBSCRIPTION_STATES.indexOf(wanted)).flatMap(counts)
  return all([
    ...counts(wanted).map(is => subscription(scope, is)),
    ...(better.length > 0 ? [when(subscription(scope, sql`${sql.join(better, sql` or `)}`), false)] : []),
  ])
}

// From the products of the definition to their purchases, once for the whole set: few of the users have any. Which product a purchase
// belongs to is asked once per product of the store, not per purchase (50 µs each). The planner cannot know how many they are and, left
// to itself, compares every member with every user; of an array it expects ten elements and always makes a hash table (IS TRUE keeps it
// from becoming a join).
function entitledSql({ environment, now }: Scope, id: string): Is {
  const linked = sql`linked_product(${environment}::int, c.platform, c.store_product_id, c.base_plan_id)`
  return sql`(u.id in (select unnest(array(with candidates as materialized (
    select p.user_id, p.lineage, p.platform, p.store_product_id, p.base_plan_id
    from entitlement_products ep
    join products d on d.environment = ep.environment and d.id = ep.product_id
    cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id), ('stripe', d.stripe_product_id),
      ('paddle', d.paddle_product_id)) l(platform, product_id)
    join purchases p on p.environment = ep.environment and p.platform = l.platform and p.store_product_id = l.product_id
    where ep.environment = ${environment}::int and ep.entitlement_id = ${id}::text and p.purchased_at <= ${now} and p.access_until > ${now}
  ), links as materialized (
    select c.* from (select distinct platform, store_product_id, base_plan_id from candidates) c
    join entitlement_products ep on ep.environment = ${environment}::int and ep.entitlement_id = ${id}::text and ep.product_id = ${linked}
  ), giving as materialized (
    select c.user_id, c.lineage from candidates c join links l
    on l.platform = c.platform and l.store_product_id = c.store_product_id and l.base_plan_id is not distinct from c.base_plan_id
  )
    select g.user_id from grants g where g.environment = ${environment}::int and g.entitlement_id = ${id}::text and g.starts_at <= ${now}
      and (g.expires_at is null or g.expires_at > ${now})
    union all select user_id from giving where user_id is not null
    union all select s.user_id from giving join lineage_shares s on s.lineage = giving.lineage and s.environment = ${environment}::int
  ))) is true)`
}

export function flagSql(scope: Scope, metric: string): Is {
  switch (metric) {
    case 'renewable':
      return subscription(scope, sql`s.auto_renewing and ${stateIn(scope, RENEWABLE)}`)
    case 'has_active_subscription':
      return subscription(scope, stateIn(scope, GIVING_ACCESS))
    default:
      return entitledSql(scope, entitlementOf(metric) ?? '')
  }
}

export const experimentSql = ({ environment }: Scope, which: Is): Is =>
  some(sql`from experiment_assignments a join experiments x on x.environment = a.environment and x.id = a.experiment_id
    where a.environment = ${environment}::int and a.user_id = u.id and x.status in ('active', 'paused') and ${which}`)

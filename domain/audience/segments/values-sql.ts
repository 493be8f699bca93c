// The values of the user `u` that conditions use, in SQL. `evaluate.ts` has the same rules for one user in memory.
import { type RawBuilder, sql } from 'kysely'
import { and } from '../../kernel/compose.ts'
import type { Environment } from '../../kernel/environment.ts'
import { COUNTS_AS, GIVING_ACCESS, RENEWABLE } from './evaluate.ts'
import { type AutoRenewSetting, entitlementOf, propertyOf, SUBSCRIPTION_STATES, type SubscriptionState } from './metrics.ts'

export type Predicate = RawBuilder<boolean>
/** `now` is one instant for the whole statement. */
export type Scope = {
  environment: Environment
  now: RawBuilder<string>
  /** Whether a user for whom the condition is false is none of the whole statement's, so that the condition may choose the users to look at. */
  isRequired: boolean
  /** Whether the statement is about a few users that are given. */
  isAboutFew: boolean
}

export const isOrNot = (expression: Predicate, wanted: boolean): Predicate => (wanted ? expression : sql`not (${expression})`)

/** Null for a user who has no value. */
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
 * The leading digits of each part of a version as numbers, without zeros at the end, as in `versionParts`. Versions of digits and points
 * alone take the first branch, which is ten times as fast.
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

// A subquery with a limit is one index probe per user, independent of the planner's estimates. EXISTS becomes a join; without statistics that
// join compares every user with every row: 3 s for 250 users.
const existsRow = (rows: RawBuilder<unknown>): Predicate => sql`((select 1 ${rows} limit 1) is not null)`

const subscription = ({ environment }: Scope, which: Predicate): Predicate =>
  existsRow(sql`from subscriptions s where s.environment = ${environment}::int and s.user_id = u.id and (${which})`)

const stateIn = ({ now }: Scope, states: readonly string[]): Predicate =>
  sql`subscription_state(s.state_at, s.states, ${now}) = any (${states}::text[])`

export function subscriptionStateSql(scope: Scope, wanted: SubscriptionState): Predicate {
  const counts = (state: SubscriptionState): Predicate[] => {
    if (state === 'none') return []
    const counted = stateIn(scope, COUNTS_AS[state])
    return [state === 'expired' ? sql`${counted} and s.ever_paid` : counted]
  }
  const better = SUBSCRIPTION_STATES.slice(0, SUBSCRIPTION_STATES.indexOf(wanted)).flatMap(counts)
  return and([
    ...counts(wanted).map(predicate => subscription(scope, predicate)),
    ...(better.length > 0 ? [isOrNot(subscription(scope, sql`${sql.join(better, sql` or `)}`), false)] : []),
  ])
}

export function autoRenewSql(scope: Scope, wanted: AutoRenewSetting): Predicate {
  const isOpen = stateIn(scope, RENEWABLE)
  const isOn = subscription(scope, sql`s.auto_renewing and ${isOpen}`)
  if (wanted === 'on') return isOn
  return wanted === 'off' ? and([subscription(scope, isOpen), isOrNot(isOn, false)]) : isOrNot(subscription(scope, isOpen), false)
}

/** Whether an open subscription has a planned product that meets `which`. */
export const plannedProductSql = (scope: Scope, which: (product: RawBuilder<string | null>) => Predicate): Predicate =>
  subscription(scope, sql`s.planned_product is not null and ${stateIn(scope, RENEWABLE)} and ${which(sql`s.planned_product`)}`)

// From the products of the entitlement to their purchases, once for the whole set, because few users have such purchases. linked_product() is
// called once per product of the store and not per purchase: a call costs 5 µs. The planner cannot know how many users result; left to
// itself it compares every member with every user. Of an array it expects ten elements, so it always builds a hash table (IS TRUE prevents
// that the condition becomes a join).
function entitledSql({ environment, now }: Scope, id: string): Predicate {
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

export function flagSql(scope: Scope, metric: string): Predicate {
  switch (metric) {
    case 'renewable':
      return subscription(scope, sql`s.auto_renewing and ${stateIn(scope, RENEWABLE)}`)
    case 'has_active_subscription':
      return subscription(scope, stateIn(scope, GIVING_ACCESS))
    case 'is_paused':
      return subscription(scope, sql`s.is_paused`)
    default:
      return entitledSql(scope, entitlementOf(metric) ?? '')
  }
}

/**
 * Whether the user is on the list of the segment. Where that is required, the statement looks at the listed users alone, one probe of the
 * primary key for each; the planner would compare the list with all users while it knows nothing of either. Elsewhere the list is hashed. Of a
 * few users each is looked up: the list may have 10,000, and automations ask at every batch of events.
 */
export function listedSql({ environment, isRequired, isAboutFew }: Scope, segment: string): Predicate {
  const list = sql`select m.user_id from segment_members m where m.environment = ${environment}::int and m.segment_id = ${segment}::text`
  if (isAboutFew) return sql`((${list} and m.user_id = u.id limit 1) is not null)`
  return isRequired ? sql`u.id = any (array(${list}))` : sql`((u.id in (${list})) is true)`
}

export const experimentSql = ({ environment }: Scope, which: Predicate): Predicate =>
  existsRow(sql`from experiment_assignments a join experiments x on x.environment = a.environment and x.id = a.experiment_id
    where a.environment = ${environment}::int and a.user_id = u.id and x.status in ('active', 'paused') and ${which}`)

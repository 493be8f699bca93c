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

/** The leading digits of each part as numbers, without zeros at the end, as `versionParts` has them. */
export const versionSql = (version: RawBuilder<string | null>): RawBuilder<string[] | null> => sql`case when ${version} is not null then (
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

const stateIn = ({ now }: Scope, states: readonly string[]): Is =>
  sql`subscription_state(s.state_at, s.states, ${now}) = any (${states}::text[])`

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

// From the products of the definition to their purchases, once for the whole set: few of the users have any.
function entitledSql({ environment, now }: Scope, id: string): Is {
  const giving = sql`entitlement_products ep
    join products d on d.environment = ep.environment and d.id = ep.product_id
    cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id), ('stripe', d.stripe_product_id),
      ('paddle', d.paddle_product_id)) l(platform, product_id)
    join purchases p on p.environment = ep.environment and p.platform = l.platform and p.store_product_id = l.product_id`
  const gives = sql`ep.environment = ${environment}::int and ep.entitlement_id = ${id}::text and p.purchased_at <= ${now} and p.access_until > ${now}
    and linked_product(p.environment, p.platform, p.store_product_id, p.base_plan_id) = d.id`
  return sql`exists (select 1 from (with members as materialized (
    select g.user_id from grants g where g.environment = ${environment}::int and g.entitlement_id = ${id}::text and g.starts_at <= ${now}
      and (g.expires_at is null or g.expires_at > ${now})
    union all select p.user_id from ${giving} where ${gives}
    union all select s.user_id from ${giving} join lineage_shares s on s.lineage = p.lineage and s.environment = p.environment where ${gives}
  ) select user_id from members) e where e.user_id = u.id)`
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

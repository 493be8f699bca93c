import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Condition } from './condition.ts'
import { EVALUATED } from './list.ts'

/** Values that an app sends for one evaluation; they replace the last known ones. */
export type Overrides = { target_platform?: string; country?: string; app_version?: string }

/** The facts about one user that conditions use, as of `now`. All times are in whole seconds. */
export type Profile = {
  id: string
  now: string
  environment: 'prod' | 'sandbox'
  created_at: string
  last_seen_at: string
  properties: Record<string, string>
  advertiser_id: string | null
  platform: string | null
  country: string | null
  app_version: string | null
  payments_count: number
  net_payments_usd: string
  /** `state` is null before the subscription begins. */
  subscriptions: { state: string | null; auto_renewing: boolean; ever_paid: boolean; is_paused: boolean; planned_product: string | null }[]
  /** The ids of the active entitlements. */
  entitlements: string[]
  /** The active or paused experiments in which the user has an assignment. */
  experiments: { id: string; context_key: string }[]
  /** The conditions of own segments, by id, with those of lists; a segment that is not here does not exist. */
  segments: Record<string, Condition[]>
  /** The listed segments, of `segments`, on whose lists the user is. */
  lists: string[]
}

/** The purchases that give the user access now: own ones, and those of lineages that are shared with the user. */
const ACCESS = `
  select p.platform, p.store_product_id, p.base_plan_id from purchases p
  where p.environment = u.environment and p.user_id = u.id and p.purchased_at <= c.now and p.access_until > c.now
  union
  select p.platform, p.store_product_id, p.base_plan_id from lineage_shares s join purchases p on p.lineage = s.lineage
  where s.environment = u.environment and s.user_id = u.id and p.environment = u.environment
    and p.purchased_at <= c.now and p.access_until > c.now`

const PROFILE = `
  with c as materialized (select coalesce($4::timestamptz, environment_now($1)) as now)
  select u.id, c.now, case e.kind when 'production' then 'prod' else 'sandbox' end as environment, u.created_at, u.last_seen_at, u.properties,
    u.advertiser_id, u.platform, u.country, u.app_version, u.payments_count, u.net_payments_usd::text as net_payments_usd,
    (select coalesce(json_agg(json_build_object('state', subscription_state(s.state_at, s.states, c.now),
         'auto_renewing', s.auto_renewing, 'ever_paid', s.ever_paid, 'is_paused', s.is_paused,
         'planned_product', s.planned_product)), '[]')
       from subscriptions s where s.environment = u.environment and s.user_id = u.id) as subscriptions,
    array(
      select g.entitlement_id from grants g
      where g.environment = u.environment and g.user_id = u.id and g.starts_at <= c.now and (g.expires_at is null or g.expires_at > c.now)
      union
      select ep.entitlement_id from (${ACCESS}) a
      join entitlement_products ep on ep.environment = u.environment
        and ep.product_id = linked_product(u.environment, a.platform, a.store_product_id, a.base_plan_id)
    ) as entitlements,
    (select coalesce(json_agg(json_build_object('id', x.id, 'context_key', x.context_key)), '[]')
       from experiment_assignments a join experiments x on x.environment = a.environment and x.id = a.experiment_id
       where a.environment = u.environment and a.user_id = u.id and x.status in ('active', 'paused')) as experiments,
    (select coalesce(json_object_agg(s.id, ${EVALUATED}), '{}') from segments s where s.environment = $1 and s.id = any ($3::text[])) as segments,
    array(select m.segment_id from segment_members m
      where m.environment = u.environment and m.segment_id = any ($3::text[]) and m.user_id = u.id) as lists
  from users u join environments e on e.id = u.environment cross join c
  where u.environment = $1 and u.id = $2`

/**
 * Reads the profile of one user with one statement; null for an unknown user. `segmentIds`: the result of `segmentIdsIn` for the conditions
 * that will be evaluated. `now` replaces the environment's clock where several evaluations must share one instant.
 */
export async function loadProfile(
  db: Db,
  environment: Environment,
  user: string,
  segmentIds: readonly string[],
  now?: string,
): Promise<Profile | null> {
  const { rows } = await db.query<Profile>({
    name: 'load-profile',
    text: PROFILE,
    values: [environment, user, segmentIds, now ?? null],
  })
  return rows[0] ?? null
}

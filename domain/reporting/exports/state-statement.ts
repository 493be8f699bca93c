import { slugsSql } from '../../events/catalogue.ts'
import { LINEAGE_OF, OWNER_OF, POSTED_FACTS, STORE_OF } from '../../purchases/subscriptions/posted.ts'
import { isMember, plain, setting, USERS_OF_PART, USERS_ORDER } from './part-range.ts'
import { platformOfStore } from './state-columns.ts'

// Each lookup by user or lineage stands behind `offset 0`: one probe of an index per row. A join could read the whole environment for each part.

// The row comparison leaves one index to the plan, whatever the statistics say: the primary key would read the purchases of all environments.
export const PURCHASE_STATE_FROM = `
  from purchases p
  join environments v on v.id = p.environment
  cross join lateral (select lineage from lineages where id = p.lineage offset 0) l
  left join lateral (
    select * from users where environment = p.environment and id >= p.user_id and id <= p.user_id order by id limit 1) u on true
  cross join lateral (
    select linked_product(p.environment, p.platform, p.store_product_id, p.base_plan_id) as product,
      round(p.amount * usd_rate(p.currency, (p.purchased_at at time zone 'UTC')::date), 6) as usd,
      case when p.refunded_at is not null then coalesce(p.refunded_amount, p.amount) end as refunded) d
  where (p.environment, p.id) > (${plain('environment', 'int')}, ${plain('after_1', 'bigint')})
    and (p.environment, p.id) <= (${plain('environment', 'int')}, ${plain('upto_1', 'bigint')})
    and p.created_at < ${setting('upto_at', 'timestamptz')}
    and (${setting('platforms', 'text')} = '' or ${platformOfStore('p.platform')} = any (string_to_array(${setting('platforms', 'text')}, ',')))
    and ${isMember('p', 'user_id')}
  order by p.environment, p.id`

export const SUBSCRIPTIONS_FROM = `
  from users u
  join environments v on v.id = u.environment
  cross join (select environment_now(${plain('environment', 'int')}) as now) n
  cross join lateral (select * from subscriptions where environment = u.environment and user_id = u.id offset 0) s
  left join lateral (
    select q.*, count(*) over () as periods
    from (select id from lineages where environment = u.environment and platform = ${STORE_OF('s.platform')} and md5(lineage) = md5(s.lineage)
      and lineage = s.lineage offset 0) l
    join purchases q on q.lineage = l.id and q.is_subscription
    order by q.is_last desc, q.purchased_at desc, q.id desc limit 1) p on true
  left join lateral (
    select e.product_id from events e
    where p.id is null and e.environment = u.environment and ${OWNER_OF('e')} = u.id and e.user_id is not null and e.purchase is null
      and e.name in (${slugsSql(POSTED_FACTS)})
      and coalesce(e.platform, '') = s.platform and e.product_id is not null
      and s.lineage in (${LINEAGE_OF}, ${LINEAGE_OF} || ':' || e.product_id)
    order by e.happened_at desc, e.id desc limit 1) e on true
  cross join lateral (
    select linked_product(u.environment, ${STORE_OF('s.platform')}, coalesce(p.store_product_id, e.product_id), p.base_plan_id) as product,
      (select count(*)::int from unnest(s.state_at) at where at <= n.now) as n) d
  where ${USERS_OF_PART}
    and (${setting('platforms', 'text')} = '' or s.platform = any (string_to_array(${setting('platforms', 'text')}, ',')))
  order by ${USERS_ORDER}, s.platform collate "C", s.lineage collate "C"`

// The same rules as of the user's entitlements in the API: the active source that ends last, else the source that ended last.
export const ENTITLEMENTS_FROM = `
  from users u
  join environments v on v.id = u.environment
  cross join (select environment_now(${plain('environment', 'int')}) as now) n
  cross join lateral (
    select distinct on (o.entitlement_id) o.*, o.begins <= n.now and n.now < o.until as is_active
    from (
      select ep.entitlement_id, p.platform as store, p.product, p.purchased_at as begins, p.access_until as until,
        coalesce(p.run_started_at, p.purchased_at) as started
      from (
        select q.*, linked_product(u.environment, q.platform, q.store_product_id, q.base_plan_id) as product
        from (
          select platform, store_product_id, base_plan_id, purchased_at, access_until, run_started_at
          from purchases where environment = u.environment and user_id = u.id
          union all
          select o.platform, o.store_product_id, o.base_plan_id, o.purchased_at, o.access_until, o.run_started_at
          from lineage_shares h join purchases o on o.lineage = h.lineage where h.environment = u.environment and h.user_id = u.id
        ) q offset 0) p
      cross join lateral (select entitlement_id from entitlement_products where environment = u.environment and product_id = p.product offset 0) ep
      union all
      select entitlement_id, null, null, starts_at, coalesce(expires_at, 'infinity'), starts_at from grants
      where environment = u.environment and user_id = u.id
    ) o
    order by o.entitlement_id, o.begins <= n.now and n.now < o.until desc, o.until desc, o.store is not null desc, o.begins desc, o.started,
      o.store collate "C", o.product collate "C"
  ) a
  where ${USERS_OF_PART}
    and (${setting('platforms', 'text')} = '' or u.platform = any (string_to_array(${setting('platforms', 'text')}, ',')))
  order by ${USERS_ORDER}, a.entitlement_id`

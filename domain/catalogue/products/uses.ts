import { payloadUses } from '../../kernel/references/condition-uses.ts'
import type { UseSource } from '../../kernel/references/uses.ts'

/** The experiments with a group whose offering contains the product. An active or paused one prevents its deletion. */
export const EXPERIMENTS: UseSource = {
  object: 'experiment',
  scanned: false,
  statement: experiments => `
    select e.id, e.name, e.status, jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) order by g.n) as parts,
      e.status in ('active', 'paused') as blocks
    from offering_products l
    join offerings o on o.environment = $1 and o.id = l.offering_id
    join experiment_groups g on g.environment = $1 and g.id = o.variant_of
    join ${experiments} e on e.environment = $1 and e.id = g.experiment_id
    where l.environment = $1 and l.product_id = $2 group by e.environment, e.id`,
}

/** What names a product. */
export const PRODUCT_USES: readonly UseSource[] = [
  {
    object: 'entitlement',
    scanned: false,
    statement: entitlements => `
      select e.id, e.description as name, null::text as status, '[]'::jsonb as parts, false as blocks
      from entitlement_products l join ${entitlements} e on e.environment = $1 and e.id = l.entitlement_id
      where l.environment = $1 and l.product_id = $2`,
  },
  {
    object: 'offering',
    scanned: false,
    statement: offerings => `
      select o.id, null::text as name, case when o.tag = 1 then 'main' end as status, '[]'::jsonb as parts, false as blocks
      from offering_products l join ${offerings} o on o.environment = $1 and o.id = l.offering_id and o.variant_of is null
      where l.environment = $1 and l.product_id = $2`,
  },
  EXPERIMENTS,
  {
    object: 'screen',
    scanned: true,
    statement: rows => `select s.id, s.name, s.status, '[]'::jsonb as parts, false as blocks from ${rows} s
      where s.environment = $1 and s.used @> array[$2::text]`,
  },
  payloadUses('Products'),
]

/**
 * In SQL: the purchases of products whose time is now, and whether each gives a user access: an entitlement lists the product, and
 * the purchase belongs to a user or is shared with one. The function `linked_product` costs 5 µs a purchase, so it is called last. `now` is a
 * subquery, so that purchases without access are filtered out before. `which`: the condition that the id of a product meets.
 */
export const purchasesNow = (which: string): string => `
  select p.id, p.user_id, (p.user_id is not null
      or exists (select 1 from lineage_shares s where s.environment = $1 and s.lineage = p.lineage))
    and linked_product($1, p.platform, p.store_product_id, p.base_plan_id) = d.id as gives
  from products d
  cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id),
    ('stripe', d.stripe_product_id), ('paddle', d.paddle_product_id)) link(platform, store_product_id)
  join purchases p on p.environment = $1 and p.platform = link.platform and p.store_product_id = link.store_product_id
  where d.environment = $1 and d.id ${which}
    and exists (select 1 from entitlement_products e where e.environment = $1 and e.product_id = d.id)
    and p.purchased_at <= (select environment_now($1)) and p.access_until > (select environment_now($1))`

export const PRODUCT_COUNTS = { active_purchases: purchasesNow('= $2') }

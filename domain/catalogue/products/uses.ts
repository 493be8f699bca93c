import { payloadUses } from '../../kernel/references/condition-uses.ts'
import { rowById, type UseSource } from '../../kernel/references/uses.ts'

// Ordered ranges and single rows: a plan that was made without statistics goes the same way.

/** The entitlements or offerings that list the product. */
const listsOf = (kind: 'entitlement' | 'offering') => `
  select ${kind}_id as id from ${kind}_products where environment = $1 and product_id >= $2 and product_id <= $2
  order by environment, product_id offset 0`

/** The experiments with a group whose offering contains the product. An active or paused one prevents its deletion. */
export const EXPERIMENTS: UseSource = {
  object: 'experiment',
  scanned: false,
  statement: experiments => `
    select e.id, e.name, e.status, jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) order by g.n) as parts,
      e.status in ('active', 'paused') as blocks
    from (${listsOf('offering')}) l
    cross join lateral (${rowById('offerings', 'l.id')}) o
    cross join lateral (${rowById('experiment_groups', 'o.variant_of')}) g
    cross join lateral (${rowById(experiments, 'g.experiment_id')}) e
    group by e.environment, e.id, e.name, e.status`,
}

/** What names a product. */
export const PRODUCT_USES: readonly UseSource[] = [
  {
    object: 'entitlement',
    scanned: false,
    statement: entitlements => `
      select e.id, e.description as name, null::text as status, '[]'::jsonb as parts, false as blocks
      from (${listsOf('entitlement')}) l cross join lateral (${rowById(entitlements, 'l.id')}) e`,
  },
  {
    object: 'offering',
    scanned: false,
    statement: offerings => `
      select o.id, null::text as name, case when o.tag = 1 then 'main' end as status, '[]'::jsonb as parts, false as blocks
      from (${listsOf('offering')}) l cross join lateral (${rowById(offerings, 'l.id')}) o where o.variant_of is null`,
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
 * the purchase belongs to a user or is shared with one. The function `linked_product` costs 5 µs a purchase, so it is called last. With a limit
 * each share is looked up; EXISTS may hash all shares of the environment instead. `which`: the condition that the id of a product meets.
 */
export const purchasesNow = (which: string): string => `
  select p.id, p.user_id, (p.user_id is not null
      or (select 1 from lineage_shares s where s.environment = $1 and s.lineage = p.lineage limit 1) is not null)
    and linked_product($1, p.platform, p.store_product_id, p.base_plan_id) = d.id as gives
  from products d
  cross join lateral (values ('app_store', d.apple_product_id), ('play_store', d.google_product_id),
    ('stripe', d.stripe_product_id), ('paddle', d.paddle_product_id)) link(platform, id)
  cross join lateral (
    select * from purchases
    where store_product_id >= link.id and store_product_id <= link.id and environment = $1 and platform = link.platform
      and access_until > (select environment_now($1)) and purchased_at <= (select environment_now($1))
    order by store_product_id, environment, platform, access_until offset 0) p
  where d.environment = $1 and d.id ${which}
    and exists (select 1 from entitlement_products e where e.environment = $1 and e.product_id = d.id)`

export const PRODUCT_COUNTS = { active_purchases: purchasesNow('= $2') }

import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Store } from './subscriptions/purchase.ts'

/** A product of a store that no product links. `id`: of its first purchase. `purchases` and `users` are counted up to a bound; `more`: there are more. */
export type UnmappedProduct = {
  id: string
  platform: Store
  store_product_id: string
  base_plan_id: string | null
  first_seen_at: string
  last_seen_at: string
  purchases: number
  users: number
  more: boolean
}
export type UnmappedProducts = { rows: UnmappedProduct[]; next: string | null; restarted: boolean }

/** How many purchases of a product are counted. */
const COUNTED = 1_000
/** How many products of stores a page looks at, those that are linked by now included. */
const LOOKED_AT = 500

const PLAN = `coalesce(base_plan_id, '')`
const ORDER = (direction: 'asc' | 'desc') =>
  `order by environment ${direction}, platform ${direction}, store_product_id ${direction}, ${PLAN} ${direction}`
const after = (place: string) => `
  select platform, store_product_id, ${PLAN} as plan, id from purchases
  where is_unmapped and environment = $1 and (platform, store_product_id, ${PLAN}) > (${place}) ${ORDER('asc')}, id limit 1`
const purchasesOf = (shown: string) => `
  select ${shown} from purchases
  where is_unmapped and environment = $1 and platform = s.platform and store_product_id = s.store_product_id and ${PLAN} = s.plan`

// From one product to the next one in the order of the index, however many purchases it has.
const STATEMENT = `
  with recursive seen as (
    select p.*, 1 as n from (${after('$2::text, $3::text, $4::text')}) p
    union all
    select p.*, s.n + 1 from seen s cross join lateral (${after('s.platform, s.store_product_id, s.plan')}) p where s.n < ${LOOKED_AT}
  ), page as materialized (
    select * from seen s where linked_product($1, s.platform, s.store_product_id, nullif(s.plan, '')) is null order by s.n limit $5
  )
  select s.id::text, s.platform, s.store_product_id, nullif(s.plan, '') as base_plan_id,
    (${purchasesOf('created_at')} ${ORDER('asc')}, id limit 1) as first_seen_at,
    (${purchasesOf('created_at')} ${ORDER('desc')}, id desc limit 1) as last_seen_at,
    c.purchases, c.users, c.more, false as is_last
  from page s cross join lateral (
    select least(count(*), ${COUNTED})::int as purchases, count(distinct user_id)::int as users, count(*) > ${COUNTED} as more
    from (${purchasesOf('user_id')} limit ${COUNTED + 1}) p) c
  union all
  (select id::text, platform, store_product_id, nullif(plan, ''), null, null, null, null, null, true from seen where n = ${LOOKED_AT})
  order by is_last, platform, store_product_id, base_plan_id nulls first`

type Place = { platform: string; store_product_id: string; plan: string }
const FIRST: Place = { platform: '', store_product_id: '', plan: '' }

/** Null: the cursor names no purchase of such a product. */
async function placeOf(db: Db, environment: Environment, cursor: string): Promise<Place | null> {
  if (!/^\d{1,18}$/.test(cursor)) return null
  const { rows } = await db.query<Place>({
    name: 'place-of-unmapped-product',
    text: `select platform, store_product_id, ${PLAN} as plan from purchases where environment = $1 and id = $2 and is_unmapped`,
    values: [environment, cursor],
  })
  return rows[0] ?? null
}

/**
 * Products of stores whose purchases were recorded while no product linked them, and that no product links now, in the order of their ids. It
 * looks at a limited number of them: a page may have fewer rows than `limit`, or none, and still be followed by another one.
 */
export async function listUnmapped(
  db: Db,
  environment: Environment,
  { limit, after: cursor }: { limit: number; after: string | undefined },
): Promise<UnmappedProducts> {
  const place = cursor === undefined ? FIRST : await placeOf(db, environment, cursor)
  const { platform, store_product_id, plan } = place ?? FIRST
  const { rows } = await db.query<UnmappedProduct & { is_last: boolean }>({
    name: 'unmapped-products-of-environment',
    text: STATEMENT,
    values: [environment, platform, store_product_id, plan, limit + 1],
  })
  const found = rows.filter(({ is_last }) => !is_last)
  const shown = found.slice(0, limit).map(({ is_last, ...row }) => row)
  const last = found.length > limit ? shown.at(-1) : rows.find(({ is_last }) => is_last)
  return { rows: shown, next: last?.id ?? null, restarted: place === null }
}

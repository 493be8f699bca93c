import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { alreadyExists, type Detail, notFound, Refusal } from '../refusal.ts'

export type ProductType = 'subscription_with_promo' | 'subscription' | 'consumable' | 'lifetime'
export type ProductDuration = 'P1W' | 'P1M' | 'P3M' | 'P6M' | 'P1Y'

/** What a caller decides about a product, its id aside. `type` is null on imported rows only. */
export type ProductFacts = {
  type: ProductType | null
  duration: ProductDuration | null
  apple_product_id: string | null
  google_product_id: string | null
  google_base_plan_id: string | null
  stripe_product_id: string | null
  paddle_product_id: string | null
}
export type Product = ProductFacts & { id: string; created_at: string; updated_at: string }

export const PRODUCT_COLUMNS = `id, type, duration, apple_product_id, google_product_id, google_base_plan_id, stripe_product_id,
  paddle_product_id, created_at, updated_at`

/** The facts in the order in which statements take them. */
export const factValues = (facts: ProductFacts): (string | null)[] => [
  facts.type,
  facts.duration,
  facts.apple_product_id,
  facts.google_product_id,
  facts.google_base_plan_id,
  facts.stripe_product_id,
  facts.paddle_product_id,
]

/** Throws `invalid_data` with everything that is wrong with the facts together. */
export function checkFacts({ type, duration, google_product_id, google_base_plan_id }: ProductFacts): void {
  const faults: Detail[] = []
  const isSubscription = type === 'subscription' || type === 'subscription_with_promo'
  if (isSubscription && duration === null) faults.push({ field: 'duration', message: 'is required for subscriptions' })
  // An imported product without type counts as what its duration says.
  if (type !== null && !isSubscription && duration !== null)
    faults.push({ field: 'duration', message: 'must be null for consumable and lifetime' })
  if (google_base_plan_id !== null && google_product_id === null)
    faults.push({ field: 'google_base_plan_id', message: 'needs google_product_id' })
  if (faults.length > 0) throw new Refusal('invalid_data', faults.map(({ field, message }) => `${field} ${message}`).join('; '), faults)
}

export async function getProduct(db: Db, environment: Environment, id: string): Promise<Product> {
  const { rows } = await db.query<Product>({
    name: 'get-product',
    text: `select ${PRODUCT_COLUMNS} from products where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('product')
  return rows[0]
}

/** `types` undefined: all, those without type included. */
export type ProductPage = { limit: number; after: string | undefined; types: ProductType[] | undefined }

const LISTED = { table: 'products', columns: PRODUCT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listProducts = (db: Db, environment: Environment, { limit, after, types }: ProductPage): Promise<Page<Product>> =>
  pageOf(db, LISTED, environment, { limit, after, narrowed: types && { condition: 'type = any($4)', values: [types] } })

/**
 * Of two writers of one id the unique key decides. Times are whole seconds, as they are shown: rows that show the same time are
 * ordered by their ids.
 */
export async function createProduct(tx: Tx, environment: Environment, id: string, facts: ProductFacts): Promise<Product> {
  checkFacts(facts)
  const { rows } = await tx.query<Product>(
    `insert into products (environment, id, type, duration, apple_product_id, google_product_id, google_base_plan_id,
       stripe_product_id, paddle_product_id, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning ${PRODUCT_COLUMNS}`,
    [environment, id, ...factValues(facts)],
  )
  if (!rows[0]) throw alreadyExists(`product ${id} exists already`)
  return rows[0]
}

/** Changes the given facts; the rules hold for the result. `after` is null when nothing changes. */
export async function updateProduct(
  tx: Tx,
  environment: Environment,
  id: string,
  changes: Partial<ProductFacts>,
): Promise<{ before: Product; after: Product | null }> {
  const locked = await tx.query<Product>(`select ${PRODUCT_COLUMNS} from products where environment = $1 and id = $2 for no key update`, [
    environment,
    id,
  ])
  const before = locked.rows[0]
  if (!before) throw notFound('product')
  const merged = { ...before, ...changes }
  checkFacts(merged)
  const wanted = factValues(merged)
  if (factValues(before).every((value, i) => value === wanted[i])) return { before, after: null }
  const { rows } = await tx.query<Product>(
    `update products set type = $3, duration = $4, apple_product_id = $5, google_product_id = $6, google_base_plan_id = $7,
       stripe_product_id = $8, paddle_product_id = $9, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${PRODUCT_COLUMNS}`,
    [environment, id, ...wanted],
  )
  return { before, after: rows[0]! }
}

const WELL_FORMED = /^[a-zA-Z0-9._:\- ]{1,255}$/

/**
 * Throws `invalid_product_id` or `product_not_in_project` unless every id of the body's `product_ids` names a product. The products
 * are locked against deletion until the end of the transaction, in the order of their ids: whoever writes a list calls this before
 * locking the list, as a deletion locks the product before its lists.
 */
export async function lockListed(tx: Tx, environment: Environment, ids: string[]): Promise<void> {
  const malformed = faults(ids, id => !WELL_FORMED.test(id), 'must be 1 to 255 characters of [a-zA-Z0-9._:- ]')
  if (malformed.length > 0) throw new Refusal('invalid_product_id', 'product_ids holds what is no product id', malformed)
  if (ids.length === 0) return
  const { rows } = await tx.query<{ id: string }>(
    'select id from products where environment = $1 and id = any($2) order by id for key share',
    [environment, ids],
  )
  const known = new Set(rows.map(row => row.id))
  const unknown = faults(ids, id => !known.has(id), 'names no product')
  if (unknown.length > 0) throw new Refusal('product_not_in_project', 'product_ids names products that do not exist', unknown)
}

const faults = (ids: string[], isWrong: (id: string) => boolean, message: string) =>
  ids.flatMap((id, i) => (isWrong(id) ? [{ field: `product_ids[${i}]`, message }] : []))

import { Duration } from 'luxon'
import type { Db, Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { alreadyExists, type Detail, invalidFields, notFound, Refusal } from '../../kernel/refusal.ts'

type ProductType = 'subscription_with_promo' | 'subscription' | 'consumable' | 'lifetime'
const LONGEST_YEARS = 10
/** Of months and years of mean length. */
const yearsOf = (duration: string): number => {
  const { years, months, weeks, days } = Duration.fromISO(duration)
  return years + months / 12 + (7 * weeks + days) / 365.25
}

/** The fields of a product that a caller sets, except its id. `type` is null on imported rows only. */
type ProductFields = {
  type: ProductType | null
  /** ISO 8601, of days, weeks, months and years. */
  duration: string | null
  apple_product_id: string | null
  google_product_id: string | null
  google_base_plan_id: string | null
  stripe_product_id: string | null
  paddle_product_id: string | null
}
export type Product = ProductFields & { id: string; created_at: string; updated_at: string }

const PRODUCT_COLUMNS = `id, type, duration, apple_product_id, google_product_id, google_base_plan_id, stripe_product_id,
  paddle_product_id, created_at, updated_at`

/** The values in the order in which the statements take them. */
const fieldValues = (fields: ProductFields): (string | null)[] => [
  fields.type,
  fields.duration,
  fields.apple_product_id,
  fields.google_product_id,
  fields.google_base_plan_id,
  fields.stripe_product_id,
  fields.paddle_product_id,
]

/** Throws `invalid_data` with all faults of the fields together. */
function checkFields({ type, duration, google_product_id, google_base_plan_id }: ProductFields): void {
  const faults: Detail[] = []
  const isSubscription = type === 'subscription' || type === 'subscription_with_promo'
  if (isSubscription && duration === null) faults.push({ field: 'duration', message: 'is required for subscriptions' })
  // Of an imported product without a type, the duration says whether it is a subscription.
  if (type !== null && !isSubscription && duration !== null)
    faults.push({ field: 'duration', message: 'must be null for consumable and lifetime' })
  if (duration !== null && yearsOf(duration) > LONGEST_YEARS) faults.push({ field: 'duration', message: 'must be at most ten years' })
  if (google_base_plan_id !== null && google_product_id === null)
    faults.push({ field: 'google_base_plan_id', message: 'needs google_product_id' })
  if (faults.length > 0) throw invalidFields(faults)
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

/** The plan of Google Play that the product is sold as; null: none, or another product of the store. */
export async function googlePlanOf(db: Db, environment: Environment, id: string, storeProduct: string): Promise<string | null> {
  const { rows } = await db.query<{ plan: string | null }>({
    name: 'google-plan',
    text: 'select google_base_plan_id as plan from products where environment = $1 and id = $2 and google_product_id = $3',
    values: [environment, id, storeProduct],
  })
  return rows[0]?.plan ?? null
}

/** `types` undefined: all products, those without a type included. */
type ProductPage = { limit: number; after: string | undefined; types: ProductType[] | undefined }

const LISTED = { table: 'products', columns: PRODUCT_COLUMNS, order: 'newest' as const }

export const listProducts = (db: Db, environment: Environment, { limit, after, types }: ProductPage): Promise<Page<Product>> =>
  pageOf(db, LISTED, environment, { limit, after, narrowed: types && { condition: 'type = any($4)', values: [types] } })

/**
 * The unique key decides between two writers of one id. Times are stored in whole seconds, as the API shows them: so rows that show the
 * same time are ordered by their ids.
 */
export async function createProduct(tx: Tx, environment: Environment, id: string, fields: ProductFields): Promise<Product> {
  checkFields(fields)
  const { rows } = await tx.query<Product>(
    `insert into products (environment, id, type, duration, apple_product_id, google_product_id, google_base_plan_id,
       stripe_product_id, paddle_product_id, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning ${PRODUCT_COLUMNS}`,
    [environment, id, ...fieldValues(fields)],
  )
  if (!rows[0]) throw alreadyExists(`product ${id} exists already`)
  return rows[0]
}

export async function lockProduct(tx: Tx, environment: Environment, id: string, strength: 'update' | 'no key update'): Promise<Product> {
  const { rows } = await tx.query<Product>(`select ${PRODUCT_COLUMNS} from products where environment = $1 and id = $2 for ${strength}`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('product')
  return rows[0]
}

/** Changes the given fields; the rules apply to the result. `after` is null when nothing changes. */
export async function updateProduct(
  tx: Tx,
  environment: Environment,
  id: string,
  changes: Partial<ProductFields>,
): Promise<{ before: Product; after: Product | null }> {
  const before = await lockProduct(tx, environment, id, 'no key update')
  const merged = { ...before, ...changes }
  checkFields(merged)
  const wanted = fieldValues(merged)
  if (fieldValues(before).every((value, i) => value === wanted[i])) return { before, after: null }
  const { rows } = await tx.query<Product>(
    `update products set type = $3, duration = $4, apple_product_id = $5, google_product_id = $6, google_base_plan_id = $7,
       stripe_product_id = $8, paddle_product_id = $9, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${PRODUCT_COLUMNS}`,
    [environment, id, ...wanted],
  )
  return { before, after: rows[0]! }
}

/** Locks products against deletion, in the order of their ids; the ids of those that exist. */
export async function lockExistingProducts(tx: Tx, environment: Environment, ids: string[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string }>(
    lockInOrder({ table: 'products', key: 'id', keys: textKeys('$2'), where: 'environment = $1', strength: 'key share' }),
    [environment, ids],
  )
  return new Set(rows.map(row => row.id))
}

/** Product ids in bodies: those of the products here, and those of the stores. */
export const PRODUCT_ID = /^[a-zA-Z0-9._:\- ]{1,255}$/
export const NO_PRODUCT_ID = "must be 1 to 255 letters, digits, spaces, '.', '_', ':' and '-', such as pro_monthly"

const faultsOf = (ids: string[], isWrong: (id: string) => boolean, message: string) =>
  ids.flatMap((id, i) => (isWrong(id) ? [{ field: `product_ids[${i}]`, message }] : []))

/**
 * Throws `invalid_product_id` or `product_not_in_project` unless every id of the body's `product_ids` names a product. Locks the products
 * against deletion until the end of the transaction, in the order of their ids. Call this function before the list itself is locked: a
 * deletion locks the product before the lists that contain it.
 */
export async function lockListedProducts(tx: Tx, environment: Environment, ids: string[]): Promise<void> {
  const malformed = faultsOf(ids, id => !PRODUCT_ID.test(id), NO_PRODUCT_ID)
  if (malformed.length > 0) throw new Refusal('invalid_product_id', `${malformed[0]!.field} ${NO_PRODUCT_ID}`, malformed)
  if (ids.length === 0) return
  const known = await lockExistingProducts(tx, environment, ids)
  const unknown = faultsOf(ids, id => !known.has(id), 'names no product')
  if (unknown.length > 0) throw new Refusal('product_not_in_project', 'product_ids names products that do not exist', unknown)
}

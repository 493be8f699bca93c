import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { alreadyExists } from '../refusal.ts'
import { checkFacts, factValues, PRODUCT_COLUMNS, type Product, type ProductFacts } from './product.ts'

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

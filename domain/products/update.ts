import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { checkFacts, factValues, PRODUCT_COLUMNS, type Product, type ProductFacts } from './product.ts'

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

import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { PRODUCT_COLUMNS, type Product, type ProductType } from './product.ts'

/** `types` undefined: all, those without type included. */
export type ProductPage = { limit: number; after: string | undefined; types: ProductType[] | undefined }

/** Newest first, after the row that the cursor names; `restarted` when it names none. One row more than `limit` when there are more. */
export async function listProducts(
  db: Db,
  environment: Environment,
  { limit, after, types }: ProductPage,
): Promise<{ rows: Product[]; restarted: boolean }> {
  const known =
    after === undefined ? undefined : await db.query('select 1 from products where environment = $1 and id = $2', [environment, after])
  const restarted = known?.rowCount === 0
  const { rows } = await db.query<Product>(
    `select ${PRODUCT_COLUMNS} from products where environment = $1
     and ($3::text is null or (created_at, id) < (select created_at, id from products where environment = $1 and id = $3))
     and ($4::text[] is null or type = any($4))
     order by created_at desc, id desc limit $2`,
    [environment, limit + 1, restarted ? null : (after ?? null), types ?? null],
  )
  return { rows, restarted }
}

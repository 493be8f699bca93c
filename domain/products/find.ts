import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { PRODUCT_COLUMNS, type Product } from './product.ts'

export async function getProduct(db: Db, environment: Environment, id: string): Promise<Product> {
  const { rows } = await db.query<Product>({
    name: 'get-product',
    text: `select ${PRODUCT_COLUMNS} from products where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('product')
  return rows[0]
}

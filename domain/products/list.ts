import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { PRODUCT_COLUMNS, type Product, type ProductType } from './product.ts'

/** `types` undefined: all, those without type included. */
export type ProductPage = { limit: number; after: string | undefined; types: ProductType[] | undefined }

const LISTED = { table: 'products', columns: PRODUCT_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export const listProducts = (db: Db, environment: Environment, { limit, after, types }: ProductPage): Promise<Page<Product>> =>
  pageOf(db, LISTED, environment, { limit, after, narrowed: types && { condition: 'type = any($4)', values: [types] } })

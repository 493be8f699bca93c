import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { MONTHLY_FACTOR, type PeriodLength } from '../facts/rows.ts'
import type { FigureRelation } from './source.ts'

/**
 * What the numbers of products in facts stand for now: the id of the product that links it, else the store's own. `durations` (product, monthly):
 * the factor of a month in 336ths, for products with a duration.
 */
export type ProductWords = { idOf: ReadonlyMap<number, string>; durations: FigureRelation }

export async function loadProductWords(db: Db, environment: Environment): Promise<ProductWords> {
  const { rows } = await db.query<{ no: number; id: string; duration: PeriodLength | null }>({
    name: 'figures-products',
    text: 'select store_product_no as no, product_id as id, duration from perennial_products where environment = $1',
    values: [environment],
  })
  const lasting = rows.flatMap(({ no, duration }) => (duration === null ? [] : [{ no: BigInt(no), monthly: MONTHLY_FACTOR[duration] }]))
  return {
    idOf: new Map(rows.map(({ no, id }) => [no, id])),
    durations: {
      name: 'durations',
      columns: [
        { name: 'product', values: lasting.map(({ no }) => no) },
        { name: 'monthly', values: lasting.map(({ monthly }) => monthly) },
      ],
    },
  }
}

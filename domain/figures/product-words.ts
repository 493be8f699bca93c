import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { MONTHLY_FACTOR, type PeriodLength } from '../facts/rows.ts'
import type { FigureRelation } from './source.ts'

/**
 * What the numbers of products in facts stand for now: the id of the product that links it, else the store's own. `durations` (product, monthly):
 * the factor of a month in 336ths, for products with a duration.
 */
export type ProductWords = { idOf: ReadonlyMap<number, string>; durations: FigureRelation }

/** By database and environment: a relation that is the same object need not be handed over to a database again. */
const keptOf = new WeakMap<Db, Map<Environment, { key: string; words: ProductWords }>>()

export async function loadProductWords(db: Db, environment: Environment): Promise<ProductWords> {
  const kept = keptOf.get(db) ?? new Map()
  keptOf.set(db, kept)
  const { rows } = await db.query<Row>({
    name: 'figures-products',
    text: 'select store_product_no as no, product_id as id, duration from perennial_products where environment = $1 order by 1',
    values: [environment],
  })
  const key = JSON.stringify(rows)
  const known = kept.get(environment)
  if (known?.key === key) return known.words
  const words = wordsOf(rows)
  kept.set(environment, { key, words })
  return words
}

type Row = { no: number; id: string; duration: PeriodLength | null }

function wordsOf(rows: Row[]): ProductWords {
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

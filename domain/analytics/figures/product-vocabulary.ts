import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { SIXTEENTHS_OF_A_MONTH, sixteenthsOf, sixteenthsOfDuration } from '../facts/lengths.ts'
import type { FigureRelation } from './source.ts'

const MONTH = BigInt(SIXTEENTHS_OF_A_MONTH)
/** Of weeks and of 1, 2, 3, 6 and 12 months. */
const MONTH_PARTS = 336n

/**
 * The present meaning of the numbers of products in facts: the id of the product that links the store's product, else the id of the store.
 * `durations` (product, sixteenths): the lengths of products with a duration, in sixteenths of a day. `monthParts`: a number of parts of
 * which every amount for a month is a whole number.
 */
export type ProductVocabulary = { idOf: ReadonlyMap<number, string>; durations: FigureRelation; monthParts: bigint }

/** The vocabulary where the question does not need products. */
export const NO_PRODUCTS: ProductVocabulary = { idOf: new Map(), durations: { name: 'durations', columns: [] }, monthParts: MONTH_PARTS }

/** By database and environment: a relation that is the same object need not be handed over to a database again. */
type Kept = Map<Environment, { key: string; vocabulary: ProductVocabulary }>
const keptOf = new WeakMap<Db, Kept>()

export async function loadProductVocabulary(db: Db, environment: Environment): Promise<ProductVocabulary> {
  const kept: Kept = keptOf.get(db) ?? new Map()
  keptOf.set(db, kept)
  const { rows } = await db.query<Row>({
    name: 'figures-products',
    text: `select store_product_no as no, product_id as id, duration, null as length from perennial_products where environment = $1
      union all select null, null, null, length from fact_lengths where environment = $1 order by 1, 4`,
    values: [environment],
  })
  const key = JSON.stringify(rows)
  const known = kept.get(environment)
  if (known?.key === key) return known.vocabulary
  const vocabulary = vocabularyOf(rows)
  kept.set(environment, { key, vocabulary })
  return vocabulary
}

type Row = { no: number; id: string; duration: string | null; length: null } | { no: null; length: number }

const divisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : divisor(b, a % b))
const multiple = (a: bigint, b: bigint): bigint => (a / divisor(a, b)) * b

/** The parts of a month that are a whole number of each length: an amount × MONTH ÷ length is a whole number of them. */
const partsOf = (length: bigint): bigint => length / divisor(length, MONTH)

function vocabularyOf(rows: Row[]): ProductVocabulary {
  const products = rows.filter(row => row.no !== null)
  const lasting = products.flatMap(({ no, duration }) =>
    duration === null ? [] : [{ no: BigInt(no), sixteenths: BigInt(sixteenthsOfDuration(duration)) }],
  )
  const others = rows.flatMap(row => (row.no === null ? [BigInt(sixteenthsOf(row.length))] : []))
  const lengths = new Set([...lasting.map(({ sixteenths }) => sixteenths), ...others])
  return {
    idOf: new Map(products.map(({ no, id }) => [no, id])),
    monthParts: [...lengths].reduce((parts, length) => multiple(parts, partsOf(length)), MONTH_PARTS),
    durations: {
      name: 'durations',
      columns: [
        { name: 'product', values: lasting.map(({ no }) => no) },
        { name: 'sixteenths', values: lasting.map(({ sixteenths }) => sixteenths) },
      ],
    },
  }
}

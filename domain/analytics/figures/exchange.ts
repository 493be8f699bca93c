import type { Factor } from '../../purchases/rates/factors.ts'
import type { FigureRelation } from './source.ts'

/** The number that stands for the amounts in USD that senders stated, where the relation does not have the number of every currency. */
export const GIVEN_USD = -1

/**
 * How a statement converts amounts. `factors` (key, rated, factor, f0, f1, …): a row for each number of a currency and each day; `factorKey`
 * makes the key of the two. One key of small range, because DuckDB joins by such a key as fast as it reads an array. `rated` is 1 where amount × factor
 * ÷ 10^15 is the amount in the target currency. Where it is 0, the currency has no rate, and the factor is that of USD, for the amount that the
 * sender stated. f0, f1, …: the digits of the factor in the base 2^`digitBits`, the lowest first. The product of an amount and a digit has 64
 * bits, so that such products are added up far faster than whole ones; `digits` is 0 where the amounts are not known to be small enough.
 * `isWhole`: every fact finds its row; `isRated`: one that has a rate, unless its amounts are 0. `rated`: the numbers of the currencies that have
 * rates. Days before `first` have the factor of the first, days after `last` that of the last; `areAll`: there are none.
 */
export type Exchange = {
  factors: FigureRelation
  digits: number
  digitBits: number
  rated: readonly number[]
  isWhole: boolean
  isRated: boolean
  first: number
  last: number
  areAll: boolean
}

/** The factors of one number over the days. */
export type Rows = { number: number; isRated: boolean; spans: readonly Factor[] }

type Days = { first: number; last: number }

const PRODUCT_BITS = 62
const FEWEST_DIGIT_BITS = 12
const bitsOf = (value: bigint): number => value.toString(2).length

/** The relation of factors. `amountBits`: no amount has more; null: unknown. */
export function factorRelation(
  rows: readonly Rows[],
  days: Days,
  amountBits: number | null,
): Pick<Exchange, 'factors' | 'digits' | 'digitBits'> {
  const values = rows.flatMap(row => row.spans.flatMap(span => daily(row, span, days)))
  const column = (name: 'key' | 'rated' | 'factor') => ({ name, values: values.map(value => value[name]) })
  const digitBits = PRODUCT_BITS - (amountBits ?? PRODUCT_BITS)
  const longest = values.reduce((most, { factor }) => (factor > most ? factor : most), 0n)
  const digits = digitBits < FEWEST_DIGIT_BITS ? 0 : Math.ceil(bitsOf(longest) / digitBits)
  const mask = (1n << BigInt(digitBits)) - 1n
  const digitColumns = Array.from({ length: digits }, (_, i) => ({
    name: `f${i}`,
    values: values.map(({ factor }) => (factor >> BigInt(i * digitBits)) & mask),
  }))
  return {
    factors: { name: 'factors', columns: [column('key'), column('rated'), { ...column('factor'), wide: true }, ...digitColumns] },
    digits,
    digitBits,
  }
}

/** A row for each day of the span from `first` to `last`. */
function daily({ number, isRated }: Rows, { from, until, factor }: Factor, { first, last }: Days) {
  const days = { from: Math.max(from, first), until: Math.min(until, last + 1) }
  return Array.from({ length: Math.max(0, days.until - days.from) }, (_, i) => ({
    key: BigInt(number) * BigInt(last - first + 1) + BigInt(days.from + i - first),
    rated: isRated ? 1n : 0n,
    factor,
  }))
}

/** SQL for the key of the factor of a currency on a day of purchase. */
export function factorKey(currency: string, day: string, { first, last, areAll }: Pick<Exchange, 'first' | 'last' | 'areAll'>): string {
  if (first === last) return `cast(${currency} as bigint)`
  const within = areAll ? day : `least(greatest(${day}, ${first}), ${last})`
  return `cast(${currency} as bigint) * ${last - first + 1} + (${within} - ${first})`
}

/** SQL for whether a currency has a rate. */
export const hasFactor = (currency: string, { rated }: Pick<Exchange, 'rated'>): string =>
  rated.length === 0 ? 'false' : `${currency} in (${rated.join(', ')})`

import type { AttributeCode, ColumnAttribute } from '../attributes.ts'
import { attributeOf, isColumn } from '../attributes.ts'
import type { ProductVocabulary } from '../product-vocabulary.ts'
import type { Restriction } from '../restriction.ts'
import type { FactSource, StockSnapshot } from '../source.ts'
import type { FactorPart, MoneySql, Multiplier } from './money.ts'

/**
 * The context of every statement of a question. `now`: the last second whose facts count. `snapshot`: of a stock, the states just before
 * the time from which on changes are read. `states`: SQL to select from, in place of the states of all changes. `areStatesTogether`: every
 * filter and every division of this question has both states of a change or neither.
 */
export type ScanContext = {
  source: FactSource
  money: MoneySql
  products: ProductVocabulary
  restriction: Restriction
  now: number
  snapshot?: StockSnapshot | null
  states?: string
  areStatesTogether?: boolean
}

/**
 * A sum of a scan. `sql`: of a row; money, for the factor of exchange or one of its digits (null counts as 0). `multiplier`: the index of
 * the scan's multiplier by which each row is multiplied. `only`: conditions of the rows that have a part in it; left out: all. `isCount`:
 * it counts these rows.
 */
export type MeasuredSum = {
  isMoney: boolean
  sql: (part: FactorPart) => string
  multiplier?: number
  only?: readonly string[]
  isCount?: boolean
}

/** A sum that figures are made of: of these measured columns, `minus` those, over the rows in which the split has one of the values `within` (all). */
export type Term = { plus: number; minus?: number; within?: readonly number[] }

/**
 * One pass over facts. `from`: table with joins. `measured`: what is summed; `split`: SQL for a small whole number that tells rows apart, and
 * `multipliers` are whole numbers of which there are few. Rows are added up by these before anything is multiplied: the sums of products with
 * few different numbers cost far less than the products of rows. `fineSplit`: a split by more numbers, for sums that are not divided. It also tells
 * apart the rows that have a part in no term, so the condition `instead` is not asked of each row. `terms`: in the order of TERMS. `leftOut`: a sum
 * that counts what could not be converted; null: the terms are counts. `column`: that of an attribute in its rows. `alike`: rows are added up before
 * they are converted. `parts`: scans with the same terms, each of some of the rows, which together cost less than this one. `rare`: the rows of a
 * scan whose statement takes longer to plan than to find that there are none.
 */
export type Scan = {
  from: string
  happened: string
  where: string[]
  measured: MeasuredSum[]
  split: string | null
  fineSplit?: { split: string; instead: string }
  multipliers: Multiplier[]
  terms: Term[]
  leftOut: string | null
  alike?: Alike
  parts?: readonly Scan[]
  rare?: Pick<Scan, 'from' | 'happened' | 'where'>
  column: (attribute: ColumnAttribute) => string
}

/**
 * Rows that lie in one interval and have the same `keys` become one row, named `row`, with the keys, the `sums`, and what is `derived` from the keys as
 * columns. `joins`: what is joined to it.
 */
export type Alike = {
  row: string
  keys: Record<string, string>
  sums: Record<string, string>
  derived: Record<string, string>
  joins: string
}

/** A sum of whole numbers, not of money. */
export const measuredSum = (sql: string): MeasuredSum => ({ isMoney: false, sql: () => sql })

/** A count of the rows that meet all of the conditions. */
export const measuredCount = (...only: string[]): MeasuredSum => ({
  ...measuredSum(only.length === 0 ? '1' : countedRows(only.join(' and '))),
  only,
  isCount: true,
})

/** Terms that are the measured columns themselves, one after the other. */
export const plainTerms = (measured: readonly MeasuredSum[]): Term[] => measured.map((_, plus) => ({ plus }))

/** SQL for the part of one row in a term, by whole factors. */
export function termOfRow({ measured, split, multipliers }: Scan, { plus, minus, within }: Term): string {
  const of = (index: number) => {
    const { sql, multiplier } = measured[index]!
    return `coalesce((${sql('whole')})${multiplier === undefined ? '' : ` * (${multipliers[multiplier]!.sql})`}, 0)`
  }
  const value = minus === undefined ? of(plus) : `${of(plus)} - ${of(minus)}`
  return within === undefined ? value : `case when ${split} in (${within.join(', ')}) then ${value} else 0 end`
}

/** 1 for each row of which the condition is true. */
export const countedRows = (condition: string) => `case when ${condition} then 1 else 0 end`

/** The column of an attribute by its code; null: an attribute without one. */
export const columnIn =
  (column: (attribute: ColumnAttribute) => string | null) =>
  (code: AttributeCode): string | null => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) ? column(attribute) : null
  }

/** An end that time alone causes does not count before its time. */
export const counts = (row: string, now: number) => `(${row}.counts_from is null or ${row}.counts_from <= ${now})`

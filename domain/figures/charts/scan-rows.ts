import type { AttributeCode, ColumnAttribute } from '../attributes.ts'
import { attributeOf, isColumn } from '../attributes.ts'
import type { ProductWords } from '../product-words.ts'
import type { Restriction } from '../restriction.ts'
import type { FactSource, StandingSides } from '../source.ts'
import type { MoneySql } from './money.ts'

/**
 * What every statement of a question needs. `now`: the last second whose facts count. `standing`: of a stock, the sides from which on changes are
 * read. `sides`: what stands behind `from` in place of the sides of all changes.
 */
export type ScanContext = {
  source: FactSource
  money: MoneySql
  products: ProductWords
  restriction: Restriction
  now: number
  standing?: StandingSides | null
  sides?: string
}

/**
 * One pass over facts. `from`: table with joins. `terms`: the sums, in the order of TERMS. `only`: of each term, the rows that have a part in it;
 * left out: all. `leftOut`: a sum that counts what could not be converted; null: the terms are counts. `column`: that of an attribute in its rows.
 */
export type Scan = {
  from: string
  happened: string
  where: string[]
  terms: string[]
  only?: string[]
  leftOut: string | null
  column: (attribute: ColumnAttribute) => string
  /** How the rows may be added up before they are converted. Left out: they are converted one by one. */
  collapsed?: Collapsed
}

/**
 * Rows that convert alike, added up: a hundred thousand products of 128 bits instead of millions. `rows`: what stands behind `from`, without the
 * exchange. `keys`: what the rows of a group have in common; `sums`: what is added, by name. The terms are of the groups, which have the name
 * `row` and the columns of keys and sums; `joins` adds the exchange to them.
 */
export type Collapsed = {
  row: string
  rows: string
  keys: Record<string, string>
  sums: Record<string, string>
  joins: string
  terms: string[]
  leftOut: string
}

/** 1 for each row of which the condition is true. */
export const countedRows = (condition: string, weight = '1') => `case when ${condition} then ${weight} else 0 end`

/** The column of an attribute by its code; null: an attribute without one. */
export const columnIn =
  (column: (attribute: ColumnAttribute) => string | null) =>
  (code: AttributeCode): string | null => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) ? column(attribute) : null
  }

/** An end that time alone brings does not count before its time. */
export const counts = (row: string, now: number) => `(${row}.counts_from is null or ${row}.counts_from <= ${now})`

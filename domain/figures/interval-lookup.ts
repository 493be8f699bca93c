import { type DivideSql, equalRuns, type Grid, intervalSql } from './buckets.ts'
import type { FigureRelation } from './source.ts'

/** SQL for the number of an interval, with what it needs behind `from`. */
export type IntervalSql = { sql: string; joins: string; relations: FigureRelation[] }

/** So many comparisons cost less than a join. */
const FEW_RUNS = 3
/** A relation of so many rows is made in no time. */
const MOST_UNITS = 10_000

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b))

/**
 * The number of the interval that a time lies in, for times from the first start until the end. Where the starts have no equal steps but are all
 * multiples of a unit, as months are of days, the number is looked up in the relation `name`, by the unit that the time lies in: over many rows a
 * join costs less than the comparisons of a binary search.
 */
export function intervalIn(time: string, grid: Grid, name: string, divide: DivideSql): IntervalSql {
  const { starts, end } = grid
  const first = starts[0]!
  const unit = starts.reduce((divisor, start) => commonDivisor(divisor, start - first), 0)
  const units = Math.ceil((end - first) / unit)
  if (equalRuns(grid).length <= FEW_RUNS || units > MOST_UNITS) return { sql: intervalSql(time, grid, divide), joins: '', relations: [] }
  const sizes = starts.map((start, i) => Math.ceil(((starts[i + 1] ?? end) - start) / unit))
  const numbers = sizes.flatMap((size, i) => new Array<bigint>(size).fill(BigInt(i)))
  const relation = {
    name,
    columns: [
      { name: 'unit', values: numbers.map((_, i) => BigInt(i)) },
      { name: 'number', values: numbers },
    ],
  }
  return {
    sql: `${name}.number`,
    joins: ` join ${name} on ${name}.unit = ${divide(`(${time} - ${first})`, unit, end - first)}`,
    relations: [relation],
  }
}

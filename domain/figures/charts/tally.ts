import { type Grid, intervalSql } from '../buckets.ts'
import type { FigureRelation, FigureRow } from '../source.ts'
import type { Scan, ScanContext } from './scan.ts'
import { scanRelations } from './scan.ts'

/** The sums of the terms of a scan, for each interval of the grid; `before`: over everything that happened before it. */
export type Tally = { before: bigint[]; at: bigint[][] }

/** How rows are divided: `sql` is a whole number for each row, with joins that it needs and what these name. */
export type Division = { sql: string; joins: string; relations: FigureRelation[] }

export const UNDIVIDED: Division = { sql: '0', joins: '', relations: [] }

/** The number under which an undivided tally stands. */
export const ALL = 0

/** Whether a scan also sums what happened before the grid: its sums until a time are the state then. */
type Reach = 'within' | 'since ever'

export type TallyOptions = { grid: Grid; reach: Reach; division?: Division; terms?: readonly string[] }

/** The sums of a scan by the numbers of the division. A number without rows has no entry. */
export async function tally(
  context: ScanContext,
  scan: Scan,
  { grid, reach, division = UNDIVIDED, terms = scan.terms }: TallyOptions,
): Promise<Map<number, Tally>> {
  const { source, now } = context
  const start = grid.starts[0]!
  const end = Math.min(grid.end, now + 1)
  const interval = intervalSql(scan.happened, grid, source.dialect.floorDivide)
  const where = [
    ...scan.where,
    `${scan.happened} < ${end}`,
    reach === 'within' ? `${scan.happened} >= ${start}` : `${scan.happened} is not null`,
  ]
  const columns = [
    `${division.sql} as number`,
    `${reach === 'within' ? interval : `case when ${scan.happened} < ${start} then -1 else ${interval} end`} as interval`,
    ...terms.map((term, i) => `${term} as t${i}`),
  ]
  const sums = terms.map((_, i) => `${source.dialect.sum(`x.t${i}`)} as t${i}`)
  const text = `select x.number, x.interval, ${sums.join(', ')} from (
    select ${columns.join(', ')} from ${scan.from}${division.joins} where ${where.join(' and ')}) x group by x.number, x.interval`
  const rows = await source.query({ text, relations: [...scanRelations(context), ...division.relations] })
  return gathered(rows, grid.starts.length, terms.length)
}

const zeros = (terms: number) => new Array<bigint>(terms).fill(0n)

export const emptyTally = (intervals: number, terms: number): Tally => ({
  before: zeros(terms),
  at: Array.from({ length: intervals }, () => zeros(terms)),
})

function gathered(rows: FigureRow[], intervals: number, terms: number): Map<number, Tally> {
  const tallies = new Map<number, Tally>()
  for (const row of rows) {
    const number = Number(row.number)
    const one = tallies.get(number) ?? emptyTally(intervals, terms)
    tallies.set(number, one)
    const interval = Number(row.interval)
    const sums = interval < 0 ? one.before : one.at[interval]!
    for (let i = 0; i < terms; i++) sums[i]! += (row[`t${i}`] as bigint | null) ?? 0n
  }
  return tallies
}

/** The tallies of several scans as one, their terms one after the other. */
export function beside(tallies: Tally[]): Tally {
  const [first, ...others] = tallies
  return others.reduce(
    (joined, one) => ({ before: [...joined.before, ...one.before], at: joined.at.map((sums, i) => [...sums, ...one.at[i]!]) }),
    first!,
  )
}

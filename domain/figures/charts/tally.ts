import { type Grid, intervalSql } from '../buckets.ts'
import type { FigureRelation, FigureRow } from '../source.ts'
import { scanRelations } from './scan.ts'
import type { Collapsed, Scan, ScanContext } from './scan-rows.ts'

/** The sums of the terms of a scan, for each interval of the grid; `before`: over everything that happened before it. */
export type Tally = { before: bigint[]; at: bigint[][] }

/**
 * How rows are divided: `sql` is a whole number for each row, with joins that it needs and what these name. `isFine`: into so many numbers that it is
 * no gain to add rows up before they are converted.
 */
export type Division = { sql: string; joins: string; relations: FigureRelation[]; isFine: boolean }

export const UNDIVIDED: Division = { sql: '0', joins: '', relations: [], isFine: false }

/** The number under which an undivided tally stands. */
export const ALL = 0

/** Whether a scan also sums what happened before the grid: its sums until a time are the state then. */
type Reach = 'within' | 'since ever'

/**
 * `needed`: whether the sum of each term is; the others are 0. `most`: sums of so many numbers and intervals together. `withLeftOut`: behind the
 * terms stands how many rows could not be converted.
 */
export type TallyOptions = {
  grid: Grid
  reach: Reach
  needed?: readonly boolean[]
  division?: Division
  most?: number | undefined
  withLeftOut?: boolean
}

/** There are more sums than may be held at once. */
export class TooManySums extends Error {}

/** The sums of a scan by the numbers of the division. A number without rows has no entry. Throws TooManySums. */
export async function tally(
  context: ScanContext,
  scan: Scan,
  { grid, reach, needed = scan.terms.map(() => true), division = UNDIVIDED, most, withLeftOut = false }: TallyOptions,
): Promise<Map<number, Tally>> {
  const { source, now } = context
  const start = grid.starts[0]!
  const end = Math.min(grid.end, now + 1)
  const interval = intervalSql(scan.happened, grid, source.dialect.divide)
  const only = scan.only?.filter((_, i) => needed[i]) ?? []
  const where = [
    ...scan.where,
    ...(only.length === 0 ? [] : [`(${only.map(condition => `(${condition})`).join(' or ')})`]),
    `${scan.happened} < ${end}`,
    reach === 'within' ? `${scan.happened} >= ${start}` : `${scan.happened} is not null`,
  ]
  const places = [
    `${division.sql} as number`,
    `${reach === 'within' ? interval : `case when ${scan.happened} < ${start} then -1 else ${interval} end`} as interval`,
  ]
  const parts = { places, joins: division.joins, where: where.join(' and ') }
  const text = scan.collapsed && !division.isFine ? collapsedRows(scan.collapsed, parts, withLeftOut) : singleRows(scan, parts, withLeftOut)
  const terms = scan.terms.length + (withLeftOut && scan.leftOut !== null ? 1 : 0)
  const sum = scan.leftOut === null ? (term: string) => `sum(${term})` : source.dialect.sum
  const summed = Array.from({ length: terms }, (_, i) => i).filter(i => needed[i] ?? true)
  const sums = summed.map(i => `${sum(`x.t${i}`)} as t${i}`)
  const rows = await source.query({
    text: `select x.number, x.interval, ${sums.join(', ')} from (${text}) x group by x.number, x.interval${most === undefined ? '' : ` limit ${most + 1}`}`,
    relations: [...scanRelations(context), ...division.relations],
  })
  if (most !== undefined && rows.length > most) throw new TooManySums()
  return gathered(rows, grid.starts.length, terms, summed)
}

type Parts = { places: string[]; joins: string; where: string }

const numbered = (terms: string[]): string[] => terms.map((term, i) => `${term} as t${i}`)

function singleRows({ from, terms, leftOut }: Scan, { places, joins, where }: Parts, withLeftOut: boolean): string {
  const all = withLeftOut && leftOut !== null ? [...terms, leftOut] : terms
  return `select ${[...places, ...numbered(all)].join(', ')} from ${from}${joins} where ${where}`
}

function collapsedRows(
  { row, rows, keys, sums, joins: exchange, terms, leftOut }: Collapsed,
  { places, joins, where }: Parts,
  withLeftOut: boolean,
): string {
  const named = (columns: Record<string, string>) => Object.entries(columns).map(([name, sql]) => `${sql} as ${name}`)
  const groups = [...places, ...named(keys)]
  const inner = `select ${[...groups, ...named(sums)].join(', ')} from ${rows}${joins} where ${where} group by ${groups.map((_, i) => i + 1).join(', ')}`
  const all = withLeftOut ? [...terms, leftOut] : terms
  return `select ${[`${row}.number`, `${row}.interval`, ...numbered(all)].join(', ')} from (${inner}) ${row}${exchange}`
}

const zeros = (terms: number) => new Array<bigint>(terms).fill(0n)

export const emptyTally = (intervals: number, terms: number): Tally => ({
  before: zeros(terms),
  at: Array.from({ length: intervals }, () => zeros(terms)),
})

function gathered(rows: FigureRow[], intervals: number, terms: number, summed: readonly number[]): Map<number, Tally> {
  const tallies = new Map<number, Tally>()
  for (const row of rows) {
    const number = Number(row.number)
    const one = tallies.get(number) ?? emptyTally(intervals, terms)
    tallies.set(number, one)
    const interval = Number(row.interval)
    const sums = interval < 0 ? one.before : one.at[interval]!
    for (const i of summed) sums[i]! += (row[`t${i}`] as bigint | null) ?? 0n
  }
  return tallies
}

const plus = (a: readonly bigint[], b: readonly bigint[]): bigint[] => a.map((value, i) => value + b[i]!)

/** The sum of tallies of one scan. */
export const added = (tallies: readonly Tally[]): Tally =>
  tallies.reduce((sum, one) => ({ before: plus(sum.before, one.before), at: sum.at.map((sums, i) => plus(sums, one.at[i]!)) }))

/** The tallies of several scans as one, their terms one after the other. */
export function beside(tallies: Tally[]): Tally {
  const [first, ...others] = tallies
  return others.reduce(
    (joined, one) => ({ before: [...joined.before, ...one.before], at: joined.at.map((sums, i) => [...sums, ...one.at[i]!]) }),
    first!,
  )
}

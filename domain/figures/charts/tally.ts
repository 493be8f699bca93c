import { type Grid, intervalSql } from '../buckets.ts'
import type { FigureRelation, FigureRow } from '../source.ts'
import { type FactorPart, factorParts } from './money.ts'
import { scanRelations } from './scan.ts'
import { type Alike, countedRows, type Scan, type ScanContext, type Term } from './scan-rows.ts'

/** The sums of the terms of a scan, for each interval of the grid; `before`: over everything that happened before it. */
export type Tally = { before: bigint[]; at: bigint[][] }

/** How rows are divided: `sql` is a whole number for each row, with joins that it needs and what these name. */
export type Division = { sql: string; joins: string; relations: FigureRelation[] }

/** The number under which an undivided tally stands. */
export const ALL = 0

export const UNDIVIDED: Division = { sql: String(ALL), joins: '', relations: [] }

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
export async function tally(context: ScanContext, scan: Scan, options: TallyOptions): Promise<Map<number, Tally>> {
  if (!scan.parts) return tallyAtOnce(context, scan, options)
  const found: [number, Tally][] = []
  for (const part of scan.parts) found.push(...(await tallyAtOnce(context, part, options)))
  const byNumber = Map.groupBy(found, ([number]) => number)
  return new Map([...byNumber].map(([number, own]) => [number, added(own.map(([, one]) => one))]))
}

async function tallyAtOnce(context: ScanContext, scan: Scan, options: TallyOptions): Promise<Map<number, Tally>> {
  const { grid, needed = scan.terms.map(() => true), division = UNDIVIDED, most } = options
  const terms = scan.terms.flatMap((term, i) => (needed[i] ? { ...term, i } : []))
  const { split, conditions } = rowsOf(scan, terms, division)
  const columns = columnsOf(context, scan, terms, { asked: conditions, withLeftOut: options.withLeftOut ?? false })
  const place = context.source.dialect.small(placeSql(context, scan, options), grid.starts.length + 1)
  const from = `${scan.from}${division.joins} where ${[...conditions, ...timesOf(context, scan, options)].join(' and ')}`
  const keys = [
    ...(division === UNDIVIDED ? [] : [`${division.sql} as number`]),
    `${scan.alike ? `${scan.alike.row}.place` : place} as place`,
    ...(split === null ? [] : [`${split} as split`]),
    ...scan.multipliers.flatMap(({ codes }, i) => codes.map((code, j) => `${code} as ${codeName(i, j)}`)),
  ]
  const rows = await context.source.query({
    text: `select ${[...keys, ...columns.map(({ sql, name }) => `${sql} as ${name}`)].join(', ')}
      from ${scan.alike ? alikeSql(scan.alike, place, from) : from}
      group by ${keys.map((_, i) => i + 1).join(', ')}${most === undefined ? '' : ` limit ${most + 1}`}`,
    relations: [...scanRelations(context), ...division.relations],
  })
  if (most !== undefined && rows.length > most) throw new TooManySums()
  const width = scan.terms.length + (options.withLeftOut && scan.leftOut !== null ? 1 : 0)
  return gathered(rows, { intervals: grid.starts.length, width, terms, columns, scan, isSplit: split !== null })
}

/** What stands behind `from`: the rows of `rows`, with the place in the grid, added up where they are alike. */
function alikeSql({ row, keys, sums, joins }: Alike, place: string, rows: string): string {
  const own = Object.entries({ place, ...keys })
  const columns = [...own, ...Object.entries(sums).map(([name, sql]) => [name, `sum(${sql})`] as const)]
  return `(select ${columns.map(([name, sql]) => `${sql} as ${name}`).join(', ')} from ${rows} group by ${own.map((_, i) => i + 1).join(', ')}) ${row}${joins}`
}

/** SQL for the place of a row: the number of its interval; before the grid, the number after the last one. */
function placeSql({ source: { dialect } }: ScanContext, { happened }: Scan, { grid, reach }: TallyOptions): string {
  const interval = intervalSql(happened, grid, dialect.divide)
  return reach === 'within' ? interval : `case when ${happened} < ${grid.starts[0]!} then ${grid.starts.length} else ${interval} end`
}

type Needed = readonly (Term & { i: number })[]

/** The split by which rows are grouped (null: all have a part in the same terms), and the conditions of the rows that have a part in any of them. */
function rowsOf(scan: Scan, terms: Needed, division: Division): { split: string | null; conditions: string[] } {
  const { split, fineSplit, where } = scan
  if (split === null) return { split, conditions: [...where, ...anyOf(terms.map(({ plus }) => scan.measured[plus]!.only ?? []))] }
  const without = fineSplit ? where.filter(condition => condition !== fineSplit.instead) : where
  const values = terms.map(({ within }) => within)
  if (terms.length === scan.terms.length || values.some(of => of === undefined))
    return fineSplit && division === UNDIVIDED ? { split: fineSplit.split, conditions: without } : { split, conditions: where }
  const isOne = values.every(of => String(of) === String(values[0]))
  return { split: isOne ? null : split, conditions: [...without, `${fineSplit?.split ?? split} in (${values.flat().join(', ')})`] }
}

/** Conditions of the rows that meet one of these lists. A list that has all of another one adds none. */
function anyOf(lists: readonly (readonly string[])[]): readonly string[] {
  const widest = lists.filter((list, i) =>
    lists.every((other, j) => i === j || !other.every(condition => list.includes(condition)) || (other.length === list.length && i < j)),
  )
  return widest.length === 1 ? widest[0]! : [`(${widest.map(list => `(${list.join(' and ')})`).join(' or ')})`]
}

function timesOf({ now }: ScanContext, { happened }: Scan, { grid, reach }: TallyOptions): string[] {
  return [
    `${happened} < ${Math.min(grid.end, now + 1)}`,
    reach === 'within' ? `${happened} >= ${grid.starts[0]!}` : `${happened} is not null`,
  ]
}

const LEFT_OUT = 'left_out'
const codeName = (multiplier: number, code: number): string => `m${multiplier}_${code}`

/** A column of sums. `measured`: the index of what is summed, multiplied by `weight`; null: what is left out. */
type SumColumn = { name: string; sql: string; measured: number | null; weight: bigint }

/** `asked`: conditions that all rows meet. */
function columnsOf(
  { source: { dialect }, money }: ScanContext,
  scan: Scan,
  terms: readonly Term[],
  { asked, withLeftOut }: { asked: readonly string[]; withLeftOut: boolean },
): SumColumn[] {
  const parts = factorParts(money.exchange)
  const used = new Set(terms.flatMap(({ plus, minus }) => (minus === undefined ? [plus] : [plus, minus])))
  const ofMeasured = [...used].flatMap((index): SumColumn[] => {
    const { isMoney, isCount, only, sql } = scan.measured[index]!
    const column = (part: FactorPart, sum: string, weight = 1n) => ({ name: `s${index}_${part}`, sql: sum, measured: index, weight })
    if (isCount) return [column('whole', countSql(only!.filter(condition => !asked.includes(condition))))]
    if (!isMoney) return [column('whole', `sum(${sql('whole')})`)]
    return parts.map(({ part, weight }) => column(part, part === 'whole' ? dialect.sum(sql(part)) : `sum(${sql(part)})`, weight))
  })
  if (!withLeftOut || scan.leftOut === null || money.exchange.isRated) return ofMeasured
  return [...ofMeasured, { name: LEFT_OUT, sql: `sum(${scan.leftOut})`, measured: null, weight: 1n }]
}

const countSql = (conditions: readonly string[]): string =>
  conditions.length === 0 ? 'count(*)' : `sum(${countedRows(conditions.join(' and '))})`

const zeros = (terms: number) => new Array<bigint>(terms).fill(0n)

export const emptyTally = (intervals: number, terms: number): Tally => ({
  before: zeros(terms),
  at: Array.from({ length: intervals }, () => zeros(terms)),
})

/** `isSplit`: rows tell their value of the split; otherwise all have a part in every term. */
type Summed = { intervals: number; width: number; terms: Needed; columns: readonly SumColumn[]; scan: Scan; isSplit: boolean }

const number = (row: FigureRow, name: string): bigint => (row[name] as bigint | null) ?? 0n

function gathered(rows: FigureRow[], { intervals, width, terms, columns, scan, isSplit }: Summed): Map<number, Tally> {
  const tallies = new Map<number, Tally>()
  const isWithLeftOut = columns.some(({ name }) => name === LEFT_OUT)
  const digitsOf = scan.measured.map((_, index) => columns.filter(({ measured }) => measured === index))
  const sumOf = (row: FigureRow, index: number) => {
    const { multiplier } = scan.measured[index]!
    let value = 0n
    for (const { name, weight } of digitsOf[index]!) value += weight === 1n ? number(row, name) : weight * number(row, name)
    if (multiplier === undefined) return value
    const { codes, valueOf: times } = scan.multipliers[multiplier]!
    return value * times(codes.map((_, i) => row[codeName(multiplier, i)] as bigint | null))
  }
  const having = (split: number) => terms.filter(({ within }) => within === undefined || within.includes(split))
  for (const row of rows) {
    const own = isSplit ? having(Number(row.split)) : terms
    if (own.length === 0) continue
    const of = row.number === undefined ? ALL : Number(row.number)
    const one = tallies.get(of) ?? emptyTally(intervals, width)
    tallies.set(of, one)
    const place = Number(row.place)
    const sums = place === intervals ? one.before : one.at[place]!
    for (const { i, plus, minus } of own) sums[i]! += sumOf(row, plus) - (minus === undefined ? 0n : sumOf(row, minus))
    if (isWithLeftOut) sums[width - 1]! += number(row, LEFT_OUT)
  }
  return tallies
}

/** Adds to sums in place: there may be hundreds of tallies, of hundreds of intervals each. */
function addTo(sums: bigint[], more: readonly bigint[]): void {
  for (const [i, value] of more.entries()) if (value !== 0n) sums[i]! += value
}

/** The sum of tallies of one scan. */
export function added(tallies: readonly Tally[]): Tally {
  const [first, ...others] = tallies
  const sum: Tally = { before: [...first!.before], at: first!.at.map(sums => [...sums]) }
  for (const { before, at } of others) {
    addTo(sum.before, before)
    for (const [i, sums] of at.entries()) addTo(sum.at[i]!, sums)
  }
  return sum
}

/** The tallies of several scans as one, their terms one after the other. */
export function beside(tallies: Tally[]): Tally {
  const [first, ...others] = tallies
  return others.reduce(
    (joined, one) => ({ before: [...joined.before, ...one.before], at: joined.at.map((sums, i) => [...sums, ...one.at[i]!]) }),
    first!,
  )
}

import { type Grid, intervalSql } from '../buckets.ts'
import type { FigureColumns, FigureRelation, Value } from '../source.ts'
import { type FactorPart, factorParts } from './money.ts'
import { scanRelations } from './scan.ts'
import { type Alike, countedRows, type Scan, type ScanContext, type Term } from './scan-rows.ts'

/** A whole number for each interval of the grid; `before`: for everything that happened before it. */
export type Sums = { before: bigint; at: bigint[] }

/** The sums of each term of a scan. There may be hundreds of tallies, of hundreds of intervals each. */
export type Tally = readonly Sums[]

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
  // The parts have no columns by which to divide.
  if (!scan.parts || (options.division ?? UNDIVIDED) !== UNDIVIDED) return tallyAtOnce(context, scan, options)
  const found: [number, Tally][] = []
  for (const part of scan.parts) if (await hasRows(context, part, options)) found.push(...(await tallyAtOnce(context, part, options)))
  const byNumber = Map.groupBy(found, ([number]) => number)
  return new Map([...byNumber].map(([number, own]) => [number, added(own.map(([, one]) => one))]))
}

async function hasRows(context: ScanContext, { rare }: Scan, options: TallyOptions): Promise<boolean> {
  if (!rare) return true
  const { from, where } = rare
  const rows = await context.source.query({
    text: `select 1 as found from ${from} where ${[...where, ...timesOf(context, rare, options)].join(' and ')} limit 1`,
    relations: [...context.restriction.sets],
  })
  return rows.length > 0
}

async function tallyAtOnce(context: ScanContext, scan: Scan, options: TallyOptions): Promise<Map<number, Tally>> {
  const { grid, needed = scan.terms.map(() => true), division = UNDIVIDED, most } = options
  const terms = scan.terms.flatMap((term, i) => (needed[i] ? { ...term, i } : []))
  const { split, conditions } = rowsOf(scan, terms, division)
  const columns = columnsOf(context, scan, terms, { met: conditions, withLeftOut: options.withLeftOut ?? false })
  const bucket = context.source.dialect.small(bucketSql(context, scan, options), grid.starts.length + 1)
  const from = `${scan.from}${division.joins} where ${[...conditions, ...timesOf(context, scan, options)].join(' and ')}`
  const keys = [
    ...(division === UNDIVIDED ? [] : [`${division.sql} as number`]),
    `${scan.alike ? `${scan.alike.row}.bucket` : bucket} as bucket`,
    ...(split === null ? [] : [`${split} as split`]),
    ...scan.multipliers.flatMap(({ codes }, i) => codes.map((code, j) => `${code} as ${codeName(i, j)}`)),
  ]
  const found = await context.source.columns({
    text: `select ${[...keys, ...columns.map(({ sql, name }) => `${sql} as ${name}`)].join(', ')}
      from ${scan.alike ? alikeSql(scan.alike, bucket, from) : from}
      group by ${keys.map((_, i) => i + 1).join(', ')}${most === undefined ? '' : ` limit ${most + 1}`}`,
    relations: [...scanRelations(context), ...division.relations],
  })
  if (most !== undefined && found.rows > most) throw new TooManySums()
  const width = scan.terms.length + (options.withLeftOut && scan.leftOut !== null ? 1 : 0)
  const isDivided = division !== UNDIVIDED
  return gathered(found, { intervals: grid.starts.length, width, terms, columns, scan, isSplit: split !== null, isDivided })
}

/** SQL to select from: the rows of `rows`, with their bucket, added up where they have the same keys. */
function alikeSql({ row, keys, sums, derived, joins }: Alike, bucket: string, rows: string): string {
  const own = Object.entries({ bucket, ...keys })
  const columns = [...own, ...Object.entries(sums).map(([name, sql]) => [name, `sum(${sql})`] as const)]
  const list = (of: readonly (readonly [string, string])[]) => of.map(([name, sql]) => `${sql} as ${name}`).join(', ')
  const summed = `select ${list(columns)} from ${rows} group by ${own.map((_, i) => i + 1).join(', ')}`
  return `(select *, ${list(Object.entries(derived))} from (${summed}) s) ${row}${joins}`
}

/** SQL for the bucket of a row: the number of its interval; before the grid, the number after the last one. */
function bucketSql({ source: { dialect } }: ScanContext, { happened }: Scan, { grid, reach }: TallyOptions): string {
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

function timesOf({ now }: ScanContext, { happened }: Pick<Scan, 'happened'>, { grid, reach }: TallyOptions): string[] {
  return [
    `${happened} < ${Math.min(grid.end, now + 1)}`,
    reach === 'within' ? `${happened} >= ${grid.starts[0]!}` : `${happened} is not null`,
  ]
}

const LEFT_OUT = 'left_out'
const codeName = (multiplier: number, code: number): string => `m${multiplier}_${code}`

/** A column of sums. `measured`: the index of what is summed, multiplied by `weight`; null: what is left out. */
type SumColumn = { name: string; sql: string; measured: number | null; weight: bigint }

/** `met`: conditions that all rows meet. */
function columnsOf(
  { source: { dialect }, money }: ScanContext,
  scan: Scan,
  terms: readonly Term[],
  { met, withLeftOut }: { met: readonly string[]; withLeftOut: boolean },
): SumColumn[] {
  const parts = factorParts(money.exchange)
  const used = new Set(terms.flatMap(({ plus, minus }) => (minus === undefined ? [plus] : [plus, minus])))
  const ofMeasured = [...used].flatMap((index): SumColumn[] => {
    const { isMoney, isCount, only, sql } = scan.measured[index]!
    const column = (part: FactorPart, sum: string, weight = 1n) => ({ name: `s${index}_${part}`, sql: sum, measured: index, weight })
    if (isCount) return [column('whole', countSql(only!.filter(condition => !met.includes(condition))))]
    if (!isMoney) return [column('whole', `sum(${sql('whole')})`)]
    return parts.map(({ part, weight }) => column(part, part === 'whole' ? dialect.sum(sql(part)) : `sum(${sql(part)})`, weight))
  })
  if (!withLeftOut || scan.leftOut === null || money.exchange.isRated) return ofMeasured
  return [...ofMeasured, { name: LEFT_OUT, sql: `sum(${scan.leftOut})`, measured: null, weight: 1n }]
}

const countSql = (conditions: readonly string[]): string =>
  conditions.length === 0 ? 'count(*)' : `sum(${countedRows(conditions.join(' and '))})`

export const emptyTally = (intervals: number, terms: number): Tally =>
  Array.from({ length: terms }, () => ({ before: 0n, at: new Array<bigint>(intervals).fill(0n) }))

/** `isSplit`: rows tell their value of the split; otherwise all have a part in every term. */
type Summed = {
  intervals: number
  width: number
  terms: Needed
  columns: readonly SumColumn[]
  scan: Scan
  isSplit: boolean
  isDivided: boolean
}

/** The value of a row for each measured sum. There may be tens of thousands of rows. */
function sumsOf({ column }: FigureColumns, { columns, scan }: Pick<Summed, 'columns' | 'scan'>): ((row: number) => bigint)[] {
  return scan.measured.map(({ multiplier }, index) => {
    const digits = columns.flatMap(({ name, measured, weight }) => (measured === index ? [{ values: column(name), weight }] : []))
    const sumAt = (row: number) => {
      let sum = 0n
      for (const { values, weight } of digits) {
        const digit = (values[row] as bigint | null) ?? 0n
        sum += weight === 1n ? digit : weight * digit
      }
      return sum
    }
    if (multiplier === undefined) return sumAt
    const { codes, valueOf: times } = scan.multipliers[multiplier]!
    const values = codes.map((_, i) => column(codeName(multiplier, i)))
    const codeAt = (of: readonly (Value | number)[], row: number) => (of[row] === null ? null : BigInt(of[row]!))
    return row => sumAt(row) * times(values.map(of => codeAt(of, row)))
  })
}

function gathered(found: FigureColumns, summed: Summed): Map<number, Tally> {
  const { intervals, width, terms, columns, isSplit, isDivided } = summed
  const sums = sumsOf(found, summed)
  const buckets = found.column('bucket')
  const splits = isSplit ? found.column('split') : null
  const numbers = isDivided ? found.column('number') : null
  const leftOut = columns.some(({ name }) => name === LEFT_OUT) ? found.column(LEFT_OUT) : null
  const tallies = new Map<number, Tally>()
  for (let row = 0; row < found.rows; row++) {
    const split = splits && Number(splits[row])
    const own = split === null ? terms : terms.filter(({ within }) => within === undefined || within.includes(split))
    const left = (leftOut?.[row] as bigint | null | undefined) ?? 0n
    // An amount that cannot be converted changes no sum, and the answer lists it all the same.
    if (own.length === 0 && left === 0n) continue
    const number = numbers ? Number(numbers[row]) : ALL
    const one = tallies.get(number) ?? emptyTally(intervals, width)
    tallies.set(number, one)
    const bucket = Number(buckets[row])
    const add = (i: number, value: bigint) => {
      if (bucket === intervals) one[i]!.before += value
      else one[i]!.at[bucket]! += value
    }
    for (const { i, plus, minus } of own) add(i, minus === undefined ? sums[plus]!(row) : sums[plus]!(row) - sums[minus]!(row))
    if (left !== 0n) add(width - 1, left)
  }
  return tallies
}

/** The sum of tallies of one scan. */
export function added(tallies: readonly Tally[]): Tally {
  const [first, ...others] = tallies
  const sum = first!.map(({ before, at }): Sums => ({ before, at: [...at] }))
  for (const tally of others) {
    for (const [term, { before, at }] of tally.entries()) {
      const own = sum[term]!
      own.before += before
      for (const [i, value] of at.entries()) if (value !== 0n) own.at[i]! += value
    }
  }
  return sum
}

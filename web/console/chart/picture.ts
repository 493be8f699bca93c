import type { Unit } from '../data/range.ts'
import { bucket, dateFormat, type Measure } from '../parts/format.ts'

/** A series: a value for each bucket, null where there is none. */
export type Line = { label: string; values: readonly (number | null)[]; previous?: readonly (number | null)[] }
/** What happened at a moment, told by a letter above the chart. */
export type Note = { at: number; letter: string }

/** All that a chart is drawn from. */
export type Picture = {
  lines: readonly Line[]
  /** Unix second at which each bucket begins. */
  starts: readonly number[]
  kind: 'line' | 'column' | 'area'
  /** The series are parts of a whole: bars and areas stand on each other. */
  stacked: boolean
  measure: Measure
  currency: string
  unit: Unit
  zone: string
  /** The first bucket that time alone can still change: from there it is dashed or hatched. */
  openFrom?: number | null
  /** Labels of series that are not drawn; the others keep their colours. */
  hidden?: ReadonlySet<string>
  /** Draws the previous period where there is one series. */
  comparing?: boolean
  /** The previous period of all series together, drawn where they stand on each other. */
  before?: readonly (number | null)[]
  notes?: readonly Note[]
  /** Names of the buckets where they are no times: `D7`, `P3`. `starts` are then their numbers. */
  labels?: readonly string[]
  /** A value to reach, as a line across. */
  level?: { value: number; label: string } | undefined
}

/** As a chart is drawn unless somebody wants it otherwise, by its total: sums as columns, states as an area, shares as lines. */
export const USUAL_KIND = { sum: 'column', last: 'area', average: 'line' } as const

/** A bucket in words. `long`: in cards and tables. */
export const bucketOf = ({ labels, starts, unit, zone }: Picture, at: number, long = false): string =>
  labels?.[at] ?? bucketText(starts, at, unit, zone, long)

const YEAR = 31_536_000

/** A bucket among others: an hour that the clock shows twice with its offset, a day among those of several years with its year. */
export function bucketText(starts: readonly number[], at: number, unit: Unit, zone: string, long = false): string {
  const second = starts[at]!
  const text = bucket(second, unit, zone, long)
  if (long || unit === 'hour' || unit === 'month' || starts.at(-1)! - starts[0]! < YEAR) return text
  return dateFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', year: '2-digit' }).format(second * 1000)
}

/** The series that are drawn, each with its number, which decides its colour and dashes. */
export const shownOf = ({ lines, hidden }: Picture): { line: Line; at: number }[] =>
  lines.map((line, at) => ({ line, at })).filter(({ line }) => !hidden?.has(line.label))

/** The first bucket that is not complete; the number of buckets when all are. */
export function openAt({ starts, openFrom }: Picture): number {
  if (openFrom === null || openFrom === undefined) return starts.length
  const found = starts.findIndex(start => start >= openFrom)
  return found < 0 ? starts.length : found
}

import { DateTime, IANAZone } from 'luxon'
import { hourStarts, localStarts } from './calendar.ts'

const UNITS = ['hour', 'day', 'week', 'month'] as const
export type BucketUnit = (typeof UNITS)[number]

/** A half-open interval of Unix seconds. */
export type TimeWindow = { from: number; to: number }

/** Most buckets of a window. */
export const MAX_BUCKETS = 2_000

const STEP = { hour: 3_600, day: 86_400, week: 604_800 }

/** `isCut`: the window ends, or begins, inside of the bucket. */
export type Bucket = TimeWindow & { isCut: boolean }

/**
 * The buckets of the window, in order; more than `limit` are not computed. Without a zone they step from the beginning, months as in the calendar
 * of UTC (the day of the month is cut to the month's length). With a zone they are its calendar units, the first one cut at the beginning.
 */
export function bucketsOf(window: TimeWindow, unit: BucketUnit, zone: string | null, limit = MAX_BUCKETS): Bucket[] {
  const buckets: Bucket[] = []
  let from: number | null = null
  for (const start of allStarts(window.from, unit, zone)) {
    if (from !== null) {
      const isCut = start > window.to || (buckets.length === 0 && !beginsAt(from, unit, zone))
      buckets.push({ from, to: Math.min(start, window.to), isCut })
    }
    if (start >= window.to || buckets.length === limit) break
    from = start
  }
  return buckets
}

/** When the buckets begin. */
export const bucketStarts = (window: TimeWindow, unit: BucketUnit, zone: string | null, limit = MAX_BUCKETS): number[] =>
  bucketsOf(window, unit, zone, limit).map(({ from }) => from)

function* allStarts(from: number, unit: BucketUnit, zone: string | null): Generator<number> {
  if (zone !== null) {
    yield from
    yield* unit === 'hour' ? hourStarts(IANAZone.create(zone), from) : localStarts(IANAZone.create(zone), from, unit)
  } else if (unit === 'month') {
    const first = DateTime.fromSeconds(from, { zone: 'utc' })
    for (let months = 0; ; months++) yield first.plus({ months }).toSeconds()
  } else for (let start = from; ; start += STEP[unit]) yield start
}

/** Whether a bucket begins at the time, wherever the window does. */
function beginsAt(at: number, unit: BucketUnit, zone: string | null): boolean {
  if (zone === null) return true
  const [, next] = allStarts(at - 1, unit, zone)
  return next === at
}

/** The window of the same length that ends where this one begins. */
export const windowBefore = ({ from, to }: TimeWindow): TimeWindow => ({ from: from - (to - from), to: from })

/**
 * Consecutive intervals of time, by their starts in order; the last one ends at `end`.
 */
export type Grid = { starts: readonly number[]; end: number }

type Run = { first: number; last: number; start: number; step: number; until: number }

/** A division costs more than the comparisons that find one of fewer intervals. */
const SHORTEST_RUN = 4

/** The starts as runs of equal steps, in which single intervals are runs, too. */
function equalRuns(grid: Grid): Run[] {
  const runs: Run[] = []
  for (const run of equalSteps(grid)) {
    const isShort = run.step === 0 || run.last - run.first + 1 < SHORTEST_RUN
    const before = runs.at(-1)
    if (isShort) runs.push(...singlesOf(run, grid))
    // The interval before this one may have the same step: then it was taken as the second interval of another run.
    else if (before?.step === 0 && before.start + run.step === run.start)
      runs.splice(-1, 1, { ...run, first: before.first, start: before.start })
    else runs.push(run)
  }
  return runs
}

const singlesOf = ({ first, last, until }: Run, { starts }: Grid): Run[] =>
  starts.slice(first, last + 1).map((start, i): Run => {
    const number = first + i
    return { first: number, last: number, start, step: 0, until: number === last ? until : starts[number + 1]! }
  })

function equalSteps({ starts, end }: Grid): Run[] {
  const runs: Run[] = []
  for (const [i, start] of starts.entries()) {
    const until = starts[i + 1] ?? Math.max(end, start)
    const run = runs.at(-1)
    if (run && (run.step === 0 || start === run.start + (i - run.first) * run.step)) {
      run.step ||= start - run.start
      run.last = i
      run.until = until
    } else runs.push({ first: i, last: i, start, step: 0, until })
  }
  return runs
}

/** Whether one division finds the interval of a time. */
export const isOneRun = (grid: Grid): boolean => equalRuns(grid).length === 1

/** SQL for a ÷ `by` without its fraction, for 0 ≤ a < `below`. */
type DivideSql = (a: string, by: number, below: number) => string

/** How many steps of the run lie between its start and the time. The last interval may be longer than the step. */
function stepsSql(time: string, { first, last, start, step, until }: Run, divide: DivideSql): string {
  const steps = divide(start === 0 ? time : `(${time} - ${start})`, step, until - start)
  return until > start + (last - first + 1) * step ? `least(${steps}, ${last - first})` : steps
}

/** SQL that is `within` of the run that a time lies in, found by a binary search. */
function searchSql(time: string, grid: Grid, within: (run: Run) => string): string {
  const search = (runs: readonly Run[]): string => {
    if (runs.length === 1) return within(runs[0]!)
    const middle = runs.length >> 1
    return `case when ${time} < ${runs[middle]!.start} then ${search(runs.slice(0, middle))} else ${search(runs.slice(middle))} end`
  }
  return search(equalRuns(grid))
}

/**
 * SQL for the number of the interval that a time lies in, for times from the first start on. Equal steps take one division, whatever their
 * number; a binary search chooses between the runs of equal steps.
 */
export const intervalSql = (time: string, grid: Grid, divide: DivideSql): string =>
  oneDivisionSql(time, grid, divide) ??
  searchSql(time, grid, run => {
    if (run.step === 0) return String(run.first)
    const steps = stepsSql(time, run, divide)
    return run.first === 0 ? steps : `${run.first} + ${steps}`
  })

/** The same for several runs of one step, with one division: of the time since the first interval would have begun in the run. Null: another grid. */
function oneDivisionSql(time: string, grid: Grid, divide: DivideSql): string | null {
  const runs = equalRuns(grid)
  const step = runs[0]?.step
  const areAlike = runs.every(run => run.step === step && run.until <= run.start + (run.last - run.first + 1) * step)
  if (!step || runs.length === 1 || !areAlike) return null
  const beginOf = ({ start, first }: Run) => start - first * step
  const longest = Math.max(...runs.map(run => run.until - beginOf(run)))
  return divide(`(${time} - ${searchSql(time, grid, run => String(beginOf(run)))})`, step, longest)
}

/** SQL for how long after the start of that interval the time is. */
export const sinceStartSql = (time: string, grid: Grid, divide: DivideSql): string =>
  searchSql(time, grid, run => {
    const since = run.start === 0 ? time : `(${time} - ${run.start})`
    return run.step === 0 ? since : `${since} - ${run.step} * ${stepsSql(time, run, divide)}`
  })

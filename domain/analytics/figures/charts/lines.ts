import { windowBefore } from '../buckets.ts'
import type { ChartKind } from '../chart-table.ts'
import type { CompletePart } from './complete.ts'
import { countsOfRows, countUsers, type FrameCounts, repeatedPayments, withoutRepeats } from './distinct.ts'
import type { Frame } from './frame.ts'
import { type Measure, type ScanCode, unitOf } from './measure.ts'
import { type Quotient, totalOf } from './rounding.ts'
import { PAYMENTS, scanOf } from './scan.ts'
import { type MeasuredSum, measuredCount, type Scan, type ScanContext } from './scan-rows.ts'
import { ALL, added, type Division, emptyTally, type Sums, type Tally, tally, UNDIVIDED } from './tally.ts'

/**
 * The figures of a series before they are rounded. `weights`: of a ratio, the denominators; null otherwise. `complete`: of the part whose
 * outcomes are known, and of the same length before the window; null: not requested.
 */
export type FigureLine = {
  total: Quotient
  totalPrev: Quotient
  data: Quotient[]
  dataPrev: Quotient[]
  weights: { total: bigint; totalPrev: bigint } | null
  complete: { total: Quotient; totalPrev: Quotient } | null
}

/** Σ coefficient × term. */
function combined(coefficients: readonly number[], tally: Tally): Sums {
  const parts = coefficients.flatMap((coefficient, i) => (coefficient === 0 ? [] : [{ coefficient: BigInt(coefficient), of: tally[i]! }]))
  const [first] = parts
  if (parts.length === 1 && first!.coefficient === 1n) return first!.of
  const total = (value: (of: Sums) => bigint) => parts.reduce((part, { coefficient, of }) => part + coefficient * value(of), 0n)
  return { before: total(({ before }) => before), at: tally[0]!.at.map((_, i) => total(({ at }) => at[i]!)) }
}

/** The states at the ends of the intervals, by what changed in them. */
function statesOf({ before, at }: Sums): bigint[] {
  let state = before
  return at.map(change => {
    state += change
    return state
  })
}

const NOTHING: Quotient = { top: 0n, bottom: 1n }

function flow({ at }: Sums, { lead, buckets, previous }: Frame, per: bigint): FigureLine {
  const over = (top: bigint): Quotient => ({ top, bottom: per })
  const own = at.slice(lead)
  return {
    total: over(totalOf(own)),
    totalPrev: over(totalOf(at.slice(0, lead))),
    data: buckets.map((_, i) => over(own[i]!)),
    dataPrev: previous.map((_, i) => over(at[i]!)),
    ...{ weights: null, complete: null },
  }
}

function stock(sums: Sums, { lead, buckets, previous }: Frame, per: bigint): FigureLine {
  const states = statesOf(sums).map((top): Quotient => ({ top, bottom: per }))
  const data = states.slice(lead, lead + buckets.length)
  const [total, totalPrev] = [data.at(-1) ?? NOTHING, states[lead - 1]!]
  return { total, totalPrev, data, dataPrev: states.slice(0, previous.length), weights: null, complete: null }
}

/** Numerator and denominator of what lies before the window, as long as its complete part. */
type Earlier = { top: bigint; bottom: bigint; buckets: number }

/** `denominators`: by interval, and over each of the two windows. */
function ratio(
  numerators: Sums,
  denominators: FrameCounts,
  frame: Frame,
  { per, isShare, earlier }: { per: bigint; isShare: boolean; earlier: Earlier | null },
): FigureLine {
  const { lead, buckets, previous } = frame
  const scale = isShare ? 100n : 1n
  const over = (top: bigint, bottom: bigint): Quotient => ({ top: top * scale, bottom: bottom * per })
  const at = numerators.at.map((top, i) => over(top, denominators.at[i]!))
  const [before, own] = [totalOf(numerators.at.slice(0, lead)), totalOf(numerators.at.slice(lead))]
  return {
    total: over(own, denominators.window),
    totalPrev: over(before, denominators.before),
    data: at.slice(lead, lead + buckets.length),
    dataPrev: at.slice(0, previous.length),
    weights: { total: denominators.window, totalPrev: denominators.before },
    complete: earlier && {
      total: over(sumOf(numerators.at, frame, earlier.buckets), sumOf(denominators.at, frame, earlier.buckets)),
      totalPrev: over(earlier.top, earlier.bottom),
    },
  }
}

/** Of the first buckets of the window. */
const sumOf = (at: readonly bigint[], { lead }: Frame, buckets: number): bigint => totalOf(at.slice(lead, lead + buckets))

/** How a line is divided: the rows of each scan, and users who are counted once. */
export type Divide = { scan: (scan: Scan) => Division; users: Division }

const WHOLE: Divide = { scan: () => UNDIVIDED, users: UNDIVIDED }

/** Sums over some numbers of a division. Behind the terms of a scan of money stands how many facts could not be converted. */
type Tallies = { numbers: Set<number>; of: (numbers: readonly number[]) => Tally }

/** `rows`: of coefficients; a term that has none in any of them is not summed. `payments`: counts of payments that are summed behind the terms. */
async function talliesOf(
  context: ScanContext,
  { scans, kind, frame, most }: LinePlan,
  rows: readonly (readonly number[])[],
  divide: Divide,
  payments: readonly MeasuredSum[],
): Promise<Tallies> {
  const reach = kind === 'stock' ? 'since ever' : 'within'
  const numbers = new Set<number>()
  const parts: ((numbers: readonly number[]) => Tally)[] = []
  let first = 0
  for (const code of scans) {
    const plain = scanOf(code, context)
    const scan = withPayments(plain, payments)
    const needed = scan.terms.map((_, i) => i >= plain.terms.length || rows.some(row => row[first + i]))
    first += plain.terms.length
    const found = await tally(context, scan, { grid: frame.grid, reach, needed, most, division: divide.scan(scan), withLeftOut: true })
    const nothing = emptyTally(frame.grid.starts.length, scan.terms.length + (scan.leftOut === null ? 0 : 1))
    for (const number of found.keys()) numbers.add(number)
    parts.push(all => {
      const own = all.map(number => found.get(number)).filter(tally => tally !== undefined)
      return own.length === 1 ? own[0]! : added([nothing, ...own])
    })
  }
  return { numbers, of: onceForEach(all => parts.flatMap(part => part(all))) }
}

/** Keeps the computed result: it is needed for the size of a value, and again for its series. */
function onceForEach<To>(compute: (numbers: readonly number[]) => To): (numbers: readonly number[]) => To {
  const known = new Map<string, To>()
  return numbers => {
    const key = numbers.join()
    const found = known.get(key) ?? compute(numbers)
    known.set(key, found)
    return found
  }
}

/** The scan `billed` with further counts of what was paid. */
const withPayments = (scan: Scan, payments: readonly MeasuredSum[]): Scan => ({
  ...scan,
  measured: [...scan.measured, ...payments],
  terms: [...scan.terms, ...payments.map((_, i) => ({ plus: scan.measured.length + i, within: PAYMENTS }))],
})

/**
 * The figures that a chart computes, and their times. `isShare`: a percentage. `complete`: the part of the window whose outcomes are known;
 * left out: not requested. `most`: the most sums that may be held at once; left out: any number.
 */
export type LinePlan = {
  measure: Measure
  kind: ChartKind
  isShare: boolean
  frame: Frame
  scans: readonly ScanCode[]
  complete?: CompletePart | null
  most?: number
}

/** The frame of the time before the window that is as long as its complete part. */
function earlierFrame({ window }: Frame, { to }: CompletePart): Frame {
  const before = windowBefore({ from: window.from, to })
  return { window: before, before, buckets: [], previous: [], grid: { starts: [before.from], end: before.to }, lead: 0 }
}

/** Whether the figures of several values together are computed from the sums of each: users who are counted once are not. */
export const isAdditive = ({ denominator }: Measure): boolean => typeof denominator !== 'string'

/**
 * Figures of some numbers of the division together: of one number, unless the measure is additive. `of`: one line for each row of coefficients.
 * `leftOut`: facts that could not be converted, in each interval; of a stock, the state. `hasTerms`: whether any sum that the rows count is not 0,
 * in any interval; their difference may be.
 */
export type Lines = {
  numbers: Set<number>
  of: (numbers: readonly number[]) => FigureLine[]
  leftOut: (numbers: readonly number[]) => bigint[]
  hasTerms: (numbers: readonly number[]) => boolean
}

/** The lines of the division's numbers, from one pass over the facts for each scan. Throws TooManySums. */
export async function linesOf(
  context: ScanContext,
  plan: LinePlan,
  rows: readonly (readonly number[])[],
  divide: Divide = WHOLE,
): Promise<Lines> {
  const { measure, kind, isShare, frame } = plan
  const { denominator } = measure
  const per = unitOf(measure, context.products)
  const terms = rows[0]!.length
  const repeats = denominator === 'payers' ? await repeatedPayments(context, frame, divide.users) : null
  const payments = repeats ? [measuredCount()] : []
  const tallies = await talliesOf(context, plan, typeof denominator === 'object' ? [...rows, denominator] : rows, divide, payments)
  const earlier = plan.complete?.buckets
    ? await talliesOf(
        context,
        { ...plan, frame: earlierFrame(frame, plan.complete) },
        [...rows, denominator as readonly number[]],
        divide,
        [],
      )
    : null
  const users = typeof denominator === 'string' && !repeats ? await countUsers(context, denominator, frame, divide.users) : null
  const isDivided = divide.users !== UNDIVIDED
  const denominatorsOf = (numbers: readonly number[], tally: Tally): FrameCounts => {
    if (users) return users.get(isDivided ? numbers[0]! : ALL) ?? { at: frame.grid.starts.map(() => 0n), before: 0n, window: 0n }
    const counts = countsOfRows(frame, repeats ? tally[terms]!.at : combined(denominator as readonly number[], tally).at)
    return repeats ? withoutRepeats(counts, repeats) : counts
  }
  const earlierOf = (coefficients: readonly number[], numbers: readonly number[]): Earlier | null => {
    if (!plan.complete) return null
    const tally = earlier?.of(numbers) ?? []
    const sum = (row: readonly number[]) => (tally.length === 0 ? 0n : totalOf(combined(row, tally).at))
    return { top: sum(coefficients), bottom: sum(denominator as readonly number[]), buckets: plan.complete.buckets }
  }
  const lineOf = (coefficients: readonly number[], numbers: readonly number[], tally: Tally): FigureLine => {
    const values = combined(coefficients, tally)
    switch (kind) {
      case 'flow':
        return flow(values, frame, per)
      case 'stock':
        return stock(values, frame, per)
      case 'ratio':
        return ratio(values, denominatorsOf(numbers, tally), frame, { per, isShare, earlier: earlierOf(coefficients, numbers) })
      default:
        return kind satisfies never
    }
  }
  return {
    numbers: users && isDivided ? new Set([...tallies.numbers, ...users.keys()]) : tallies.numbers,
    of: onceForEach(given => {
      const tally = tallies.of(given)
      return rows.map(coefficients => lineOf(coefficients, given, tally))
    }),
    hasTerms: given => tallies.of(given).some(({ at }, i) => rows.some(row => (row[i] ?? 0) !== 0) && at.some(value => value !== 0n)),
    leftOut(given) {
      const counts = tallies.of(given)[terms + payments.length]
      if (counts === undefined) return frame.grid.starts.map(() => 0n)
      return kind === 'stock' ? statesOf(counts) : counts.at
    },
  }
}

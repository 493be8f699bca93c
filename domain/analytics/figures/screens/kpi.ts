import type { Frame } from '../charts/frame.ts'
import { type Quotient, totalOf } from '../charts/rounding.ts'

/** A figure of screens before it is rounded: over the window, over the one before, and in each bucket. */
export type ScreenKpi = { value: Quotient; prev: Quotient; sparkline: Quotient[] }

/** `over`: the figure of the grid's intervals from `first` until `end`. */
const kpiOf = ({ lead, buckets, grid }: Frame, over: (first: number, end: number) => Quotient): ScreenKpi => ({
  value: over(lead, grid.starts.length),
  prev: over(0, lead),
  sparkline: buckets.map((_, i) => over(lead + i, lead + i + 1)),
})

/** The sums of the grid's intervals, added and divided by `per`. */
export const addedKpi = (frame: Frame, sums: readonly bigint[], per = 1n): ScreenKpi =>
  kpiOf(frame, (first, end) => ({ top: totalOf(sums.slice(first, end)), bottom: per }))

/** The share of one count in another, each added first. */
export const shareKpi = (frame: Frame, part: readonly bigint[], all: readonly bigint[]): ScreenKpi =>
  kpiOf(frame, (first, end) => ({ top: totalOf(part.slice(first, end)), bottom: totalOf(all.slice(first, end)) }))

import { bucketStarts, type Grid, MAX_BUCKETS, type TimeWindow, windowBefore } from '../buckets.ts'
import type { FigureQuestion } from '../question.ts'

/**
 * The times of an answer. `buckets` and `previous`: the starts of the buckets of the window and of the one before, without those that begin
 * after now. `grid`: consecutive intervals for both: first those of the window before (its buckets, or one interval), then those of the window.
 */
export type Frame = { window: TimeWindow; before: TimeWindow; buckets: number[]; previous: number[]; grid: Grid; lead: number }

export function frameOf({
  window,
  unit,
  zone,
  now,
  previous,
}: Pick<FigureQuestion, 'window' | 'unit' | 'zone' | 'now' | 'previous'>): Frame {
  const begun = (starts: number[]) => starts.filter(start => start <= now)
  const before = windowBefore(window)
  const leading = previous ? bucketStarts(before, unit, zone, 2 * MAX_BUCKETS) : [before.from]
  const starts = bucketStarts(window, unit, zone)
  return {
    window,
    before,
    buckets: begun(starts),
    previous: previous ? begun(leading) : [],
    grid: { starts: [...leading, ...starts], end: window.to },
    lead: leading.length,
  }
}

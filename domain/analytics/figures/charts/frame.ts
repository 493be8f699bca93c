import { bucketStarts, type Grid, type TimeWindow, windowBefore } from '../buckets.ts'
import type { FigureQuestion } from '../question.ts'

/**
 * The times of an answer. `buckets`: the starts of the buckets of the window, without those that begin after now. `previous`: each of them, earlier
 * by the length of the window, so that both are compared one by one; calendar buckets of the window before may be more or fewer. `grid`:
 * consecutive intervals for both: first those of the window before (as many as buckets, or one), then those of the window.
 */
export type Frame = { window: TimeWindow; before: TimeWindow; buckets: number[]; previous: number[]; grid: Grid; lead: number }

export function frameOf({
  window,
  unit,
  zone,
  now,
  previous,
}: Pick<FigureQuestion, 'window' | 'unit' | 'zone' | 'now' | 'previous'>): Frame {
  const before = windowBefore(window)
  const starts = bucketStarts(window, unit, zone)
  const leading = previous ? starts.map(start => start - (window.to - window.from)) : [before.from]
  const buckets = starts.filter(start => start <= now)
  return {
    window,
    before,
    buckets,
    previous: previous ? leading.slice(0, buckets.length) : [],
    grid: { starts: [...leading, ...starts], end: window.to },
    lead: leading.length,
  }
}

import { type Bucket, bucketsOf, type Grid, type TimeWindow, windowBefore } from '../buckets.ts'
import type { FigureQuestion } from '../question.ts'

/**
 * The times of an answer. `buckets`: those of the window, without those that begin after now. `previous`: each of them, earlier by the length of
 * the window, so that both are compared one by one; calendar buckets of the window before may be more or fewer. `grid`: consecutive intervals
 * for both: first those of the window before (as many as buckets, or one), then those of the window.
 */
export type Frame = { window: TimeWindow; before: TimeWindow; buckets: Bucket[]; previous: Bucket[]; grid: Grid; lead: number }

export function frameOf({
  window,
  unit,
  zone,
  now,
  previous,
}: Pick<FigureQuestion, 'window' | 'unit' | 'zone' | 'now' | 'previous'>): Frame {
  const before = windowBefore(window)
  const all = bucketsOf(window, unit, zone)
  const length = window.to - window.from
  const earlier = previous ? all.map(({ from, to, isCut }): Bucket => ({ from: from - length, to: to - length, isCut })) : []
  const leading = previous ? earlier.map(({ from }) => from) : [before.from]
  const buckets = all.filter(({ from }) => from <= now)
  return {
    window,
    before,
    buckets,
    previous: earlier.slice(0, buckets.length),
    grid: { starts: [...leading, ...all.map(({ from }) => from)], end: window.to },
    lead: leading.length,
  }
}

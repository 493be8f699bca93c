import { DateTime } from 'luxon'
import { DAY, HOUR, type Instant } from './history.ts'

export type Unit = 'hour' | 'day' | 'week' | 'month'
/** [from, to) */
export type Window = { from: Instant; to: Instant }

const SECONDS = { hour: HOUR, day: DAY, week: 7 * DAY }

const seconds = (time: DateTime): Instant => time.toSeconds()
const local = (at: Instant, zone: string): DateTime => DateTime.fromSeconds(at, { zone }) as DateTime

/** The nth edge after `from` without a zone. */
function plainEdge(from: Instant, unit: Unit, n: number): Instant {
  if (unit !== 'month') return from + n * SECONDS[unit]
  return seconds(local(from, 'UTC').plus({ months: n }))
}

/** The first calendar edge of the zone after `at`. */
function nextEdge(at: Instant, unit: Unit, zone: string): Instant {
  // Edges of hours are the instants at which local clocks show a full hour, whatever happened to the offset meanwhile.
  if (unit === 'hour') {
    let edge = (Math.floor(at / 60) + 1) * 60
    while (local(edge, zone).minute !== 0) edge += 60
    return edge
  }
  const start = local(at, zone).startOf(unit)
  return seconds(start.plus({ [`${unit}s`]: 1 }).startOf(unit))
}

/** The buckets of a window, those left out that begin after now. */
export function bucketsOf(window: Window, unit: Unit, zone: string | undefined, now: Instant): Window[] {
  const buckets: Window[] = []
  for (let from = window.from, n = 1; from < window.to; n++) {
    const edge = zone === undefined ? plainEdge(window.from, unit, n) : nextEdge(from, unit, zone)
    const to = Math.min(edge, window.to)
    if (from <= now) buckets.push({ from, to })
    from = to
  }
  return buckets
}

/** Whether the bucket is less than a whole one of its unit, because the window begins or ends inside of it. */
export function isCut(bucket: Window, window: Window, unit: Unit, zone: string | undefined): boolean {
  const buckets = bucketsOf(window, unit, zone, window.to)
  const whole = zone === undefined ? plainEdge(window.from, unit, buckets.length) : nextEdge(buckets.at(-1)!.from, unit, zone)
  const isCutAtTheEnd = bucket.to === window.to && whole > window.to
  return isCutAtTheEnd || (zone !== undefined && bucket.from === window.from && nextEdge(window.from - 1, unit, zone) !== window.from)
}

/** The window of the same length before it. */
export const preceding = ({ from, to }: Window): Window => ({ from: from - (to - from), to: from })

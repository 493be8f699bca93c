import type { IANAZone } from 'luxon'
import { instantsOf } from '../../kernel/time/local-time.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000

const localOf = (zone: IANAZone, at: number): number => at + Math.round(zone.offset(at) * MINUTE)

/** The first instant after `early` at which the offset of the zone is no longer that of `early`; the offset changes until `late`. All in ms. */
function changeBetween(zone: IANAZone, early: number, late: number): number {
  const offset = zone.offset(early)
  let [before, after] = [early, late]
  while (after - before > 1_000) {
    const middle = Math.floor((before + after) / 2_000) * 1_000
    if (zone.offset(middle) === offset) before = middle
    else after = middle
  }
  return after
}

/**
 * When the hours of the zone's clocks begin after `from` (Unix seconds), without end: whenever the clocks show a whole hour. An hour that the
 * clocks show twice is two; where they are put forward across a whole hour, it begins at that instant.
 */
export function* hourStarts(zone: IANAZone, from: number): Generator<number> {
  for (let at = from * 1_000; ; ) {
    const local = localOf(zone, at)
    const next = at + HOUR - (((local % HOUR) + HOUR) % HOUR)
    if (zone.offset(next) === zone.offset(at)) {
      at = next
      yield at / 1_000
      continue
    }
    const change = changeBetween(zone, at, next)
    const hourBefore = Math.floor((local + (change - at) - 1) / HOUR)
    at = change
    const shown = localOf(zone, at)
    if (shown % HOUR === 0 || Math.floor(shown / HOUR) > hourBefore) yield at / 1_000
  }
}

function nextStart(local: number, unit: 'day' | 'week' | 'month'): number {
  const day = Math.floor(local / DAY)
  if (unit === 'day') return (day + 1) * DAY
  // 1970-01-01 was a Thursday.
  if (unit === 'week') return (day + 7 - ((((day + 3) % 7) + 7) % 7)) * DAY
  const date = new Date(day * DAY)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/**
 * When the clocks of the zone first show a local time (ms as if it were UTC), which may be shown twice. One that no clock showed lies in a gap, which ends where
 * the clocks were put forward. In ms.
 */
function firstShown(zone: IANAZone, local: number): number {
  const { at, gap } = instantsOf(zone, local)
  return gap > 0 ? changeBetween(zone, at[0]! - gap, at[0]!) : at[0]!
}

/** The local date of an instant in ms, in days since 1970. */
export const localDay = (zone: IANAZone, at: number): number => Math.floor(localOf(zone, at) / DAY)

/** When the clocks of the zone first show a date (days since 1970), in ms. */
export const dayStart = (zone: IANAZone, day: number): number => firstShown(zone, day * DAY)

/** When the zone's calendar days, weeks (from Monday) or months begin after `from` (Unix seconds), without end; a date that a zone skipped has none. */
export function* localStarts(zone: IANAZone, from: number, unit: 'day' | 'week' | 'month'): Generator<number> {
  let local = localOf(zone, from * 1_000)
  for (let last = from; ; ) {
    local = nextStart(local, unit)
    const start = firstShown(zone, local) / 1_000
    if (start <= last) continue
    yield start
    last = start
  }
}

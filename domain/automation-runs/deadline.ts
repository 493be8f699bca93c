import { DateTime, Duration, IANAZone } from 'luxon'

/** A time as Postgres writes it (`2026-03-01 09:00:00.123456+00`), to the millisecond. */
export const timeOf = (text: string): DateTime => DateTime.fromISO(text.replace(' ', 'T'), { zone: 'utc' })

/** `begin` plus an ISO 8601 duration, as ISO time; years and months by the calendar, in UTC. */
export const deadlineAfter = (begin: string, duration: string): string => timeOf(begin).plus(Duration.fromISO(duration)).toISO()!

/** Wider than any zone's distance from UTC, nearer than any two changes of one zone. */
const AROUND_MS = 15 * 3_600_000
const MINUTE_MS = 60_000

/**
 * The instant at which the zone's clock shows a local time, given as if it were UTC. In a gap: later by the gap's size, which is what
 * the clock would show had it not been put forward. In an overlap: the first of the two.
 */
function instantOf(zone: IANAZone, local: number): number {
  const before = zone.offset(local - AROUND_MS) * MINUTE_MS
  const after = zone.offset(local + AROUND_MS) * MINUTE_MS
  const shows = (offset: number) => zone.offset(local - offset) * MINUTE_MS === offset
  if (shows(before)) return local - before
  return shows(after) ? local - after : local - before
}

/**
 * The next instant, `begin` included, at which the clock of the zone shows `time` (HH:MM), as ISO time. Like every time that is shown,
 * the beginning counts in whole seconds: a run that comes at 09:00:00.4 does not wait for tomorrow's 09:00.
 */
export function nextInstantAt(begin: string, time: string, timezone: string): string {
  const zone = IANAZone.create(timezone)
  if (!zone.isValid) throw new RangeError(`no such time zone: ${timezone}`)
  const [hour, minute] = time.split(':').map(Number) as [number, number]
  const from = timeOf(begin).startOf('second').toMillis()
  const local = timeOf(begin).setZone(zone)
  // From the day before: a gap over midnight brings its late hours into this day.
  for (let day = -1; ; day++) {
    const at = instantOf(zone, Date.UTC(local.year, local.month - 1, local.day + day, hour, minute))
    if (at >= from) return new Date(at).toISOString()
  }
}

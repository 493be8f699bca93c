import { DateTime, Duration, IANAZone } from 'luxon'
import { logMicros } from '../../kernel/time/instant.ts'
import { instantsOf } from '../../kernel/time/local-time.ts'

/** A time as Postgres writes it (`2026-03-01 09:00:00.123456+00`), to the millisecond. */
export const timeOf = (text: string): DateTime => DateTime.fromISO(text.replace(' ', 'T'), { zone: 'utc' })

/** A duration without years, months and fractions: in UTC it has one length. */
const FIXED = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/
const UNITS_MS = [7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1_000]

/** `begin` plus an ISO 8601 duration, as ISO time; years and months by the calendar, in UTC. */
export function deadlineAfter(begin: string, duration: string): string {
  // Most durations need no calendar, which takes twenty times as long: each webhook step computes two deadlines.
  const [, ...counts] = FIXED.exec(duration) ?? []
  if (counts.length === 0) return timeOf(begin).plus(Duration.fromISO(duration)).toISO()!
  const ms = UNITS_MS.reduce((sum, unit, i) => sum + unit * Number(counts[i] ?? 0), 0)
  return new Date(Math.floor(logMicros(begin) / 1000) + ms).toISOString()
}

/**
 * The next instant, `begin` included, at which the clock of the zone shows `time` (HH:MM), as ISO time: of an overlap the first one. Like
 * every time that is shown, `begin` counts in whole seconds: a run that comes at 09:00:00.4 does not wait for tomorrow's 09:00.
 */
export function nextInstantAt(begin: string, time: string, timezone: string): string {
  const zone = IANAZone.create(timezone)
  if (!zone.isValid) throw new RangeError(`no such time zone: ${timezone}`)
  const [hour, minute] = time.split(':').map(Number) as [number, number]
  const from = timeOf(begin).startOf('second').toMillis()
  const local = timeOf(begin).setZone(zone)
  // From the day before: a gap over midnight brings its late hours into this day.
  for (let day = -1; ; day++) {
    const [at] = instantsOf(zone, Date.UTC(local.year, local.month - 1, local.day + day, hour, minute)).at
    if (at! >= from) return new Date(at!).toISOString()
  }
}

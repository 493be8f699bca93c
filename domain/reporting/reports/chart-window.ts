import { IANAZone } from 'luxon'
import type { BucketUnit } from '../../analytics/figures/buckets.ts'
import { dayStart, localDay } from '../../analytics/figures/calendar.ts'

/** A chart of a report: its code, the parameters of the API that the schedule does not decide, and the name of a saved view. */
export type ReportChart = { code: string; query: Record<string, unknown>; name: string | null }

/** Longer windows have too many hours to be read, and shorter ones no whole week. */
const MOST_DAYS_IN_HOURS = 7

/**
 * The whole days of the zone before the day of an instant, in ms: a week that is sent on Monday at nine is the one from Monday to Sunday. A bucket that the
 * time of day cuts would look like a fall. Days begin as those of the charts do, where the clocks show midnight twice or not at all.
 */
export function daysBefore(zone: string, days: number, at: number): { from: number; to: number } {
  const clocks = IANAZone.create(zone)
  const day = localDay(clocks, at)
  return { from: dayStart(clocks, day - days), to: dayStart(clocks, day) }
}

/** The unit of a window of so many days: the given one where it suits them. A month is longer than every window. */
export function unitOfDays(days: number, given: unknown): BucketUnit {
  if (given === 'day' || (given === 'hour' && days <= MOST_DAYS_IN_HOURS) || (given === 'week' && days > MOST_DAYS_IN_HOURS)) return given
  return days === 1 ? 'hour' : 'day'
}

export const unitFault = (days: number, given: unknown): string | null =>
  given === undefined || unitOfDays(days, given) === given
    ? null
    : `must suit ${days === 1 ? 'one day' : `${days} days`}: ${days <= MOST_DAYS_IN_HOURS ? 'hour or day' : 'day or week'}`

import { DateTime } from 'luxon'
import type { TimeWindow } from '../figures/buckets.ts'

type Calendar = 'day' | 'week' | 'month' | 'quarter' | 'year'

/** The calendar unit of a range; `units`: how many units from its first one to the present one; `ended`: the range leaves the present unit out. */
type Relative = { unit: Calendar; units: number; ended: boolean; longestDays: number }

const lastDays = (days: number): Relative => ({ unit: 'day', units: days, ended: false, longestDays: days })
const thisUnit = (unit: Calendar, longestDays: number): Relative => ({ unit, units: 1, ended: false, longestDays })
const lastUnit = (unit: Calendar, longestDays: number): Relative => ({ unit, units: 2, ended: true, longestDays })

const RANGES = {
  today: thisUnit('day', 1),
  yesterday: lastUnit('day', 1),
  last_7_days: lastDays(7),
  last_14_days: lastDays(14),
  last_28_days: lastDays(28),
  last_30_days: lastDays(30),
  last_90_days: lastDays(90),
  last_180_days: lastDays(180),
  last_365_days: lastDays(365),
  this_week: thisUnit('week', 7),
  last_week: lastUnit('week', 7),
  this_month: thisUnit('month', 31),
  last_month: lastUnit('month', 31),
  this_quarter: thisUnit('quarter', 92),
  last_quarter: lastUnit('quarter', 92),
  this_year: thisUnit('year', 366),
  last_year: lastUnit('year', 366),
} as const satisfies Record<string, Relative>

/** A relative range, or a fixed one in Unix seconds. */
export type ViewRange = keyof typeof RANGES | TimeWindow

/** The range at `now` (Unix seconds), by the calendar of the zone; a range with the present unit ends with the second `now`. */
export function viewWindow(range: ViewRange, now: number, zone: string): TimeWindow {
  if (typeof range === 'object') return range
  const { unit, units, ended } = RANGES[range]
  const start = DateTime.fromSeconds(now, { zone }).startOf(unit)
  // Of the first unit's start, too: where the clocks are put forward at midnight, a day before or after does not begin at the same time of day.
  const from = start.minus({ [unit]: units - 1 }).startOf(unit)
  return { from: Math.max(0, from.toSeconds()), to: ended ? start.toSeconds() : now + 1 }
}

const DAY = 86_400

/**
 * A window that ends with the second `now` and is as long as the range can be, but for an hour of daylight saving: no limit of a question lies
 * that close to a whole number of days.
 */
export function longestWindow(range: ViewRange, now: number): TimeWindow {
  if (typeof range === 'object') return range
  return { from: Math.max(0, now + 1 - RANGES[range].longestDays * DAY), to: now + 1 }
}

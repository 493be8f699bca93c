import { nowHere } from './clock.ts'
import { DAY, isoDay, RANGE_TEXTS, type Range, rangeOf, startOf, UNIT_OF, type Unit } from './range.ts'

/** Presets by the calendar, with the names that saved views give them, and their units. */
const CALENDAR: Record<string, { text: string; unit: Unit }> = {
  today: { text: 'Today', unit: 'hour' },
  yesterday: { text: 'Yesterday', unit: 'hour' },
  this_week: { text: 'This week', unit: 'day' },
  last_week: { text: 'Last week', unit: 'day' },
  this_month: { text: 'This month', unit: 'day' },
  last_month: { text: 'Last month', unit: 'day' },
  this_quarter: { text: 'This quarter', unit: 'day' },
  last_quarter: { text: 'Last quarter', unit: 'day' },
  this_year: { text: 'This year', unit: 'month' },
  last_year: { text: 'Last year', unit: 'month' },
}
export const CALENDAR_RANGES: readonly string[] = Object.keys(CALENDAR)

/** A preset in words; undefined for days of one's own. */
export const textOfRange = (key: string): string | undefined => (Object.hasOwn(CALENDAR, key) ? CALENDAR[key]!.text : RANGE_TEXTS[key])

/** The range of an address, also of the calendar: `range=this_month`. */
export function calendarRangeOf(search: Parameters<typeof rangeOf>[0], zone: string, now = nowHere()): Range {
  const key = search.range
  if (search.from || key === undefined || !Object.hasOwn(CALENDAR, key)) return rangeOf(search, zone, now)
  return { ...daysOf(key, zone, Math.floor(now / 60_000) * 60), key }
}

/** The unit in which a range of one's own is shown first. */
export function unitFor({ from, to, key }: Range): Unit {
  const days = (to - from) / DAY
  return CALENDAR[key]?.unit ?? UNIT_OF[key] ?? (days <= 2 ? 'hour' : days <= 62 ? 'day' : days <= 200 ? 'week' : 'month')
}

/** `this_month`, `last_quarter`: from the first day of it, until now or until the first day of the next one. */
function daysOf(key: string, zone: string, now: number): { from: number; to: number } {
  const today = isoDay(now, zone)
  if (key === 'today') return { from: startOf(today, zone), to: now }
  if (key === 'yesterday') return { from: startOf(dayAfter(today, -1), zone), to: startOf(today, zone) }
  const date = new Date(`${today}T00:00:00Z`)
  const [which, of] = key.split('_')
  const back = which === 'last' ? 1 : 0
  const first = (periods: number) => {
    if (of === 'week') return dayAfter(today, -((date.getUTCDay() + 6) % 7) - 7 * periods)
    const months = of === 'year' ? 12 : of === 'quarter' ? 3 : 1
    const month = Math.floor(date.getUTCMonth() / months) * months - months * periods
    return new Date(Date.UTC(date.getUTCFullYear(), month, 1)).toISOString().slice(0, 10)
  }
  return { from: startOf(first(back), zone), to: back === 1 ? startOf(first(0), zone) : now }
}

/** So many calendar days later. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY * 1000).toISOString().slice(0, 10)

/** The range of as many calendar days before or after, or of the same length where that is less than two days; never later than now. */
export function shifted({ from, to }: Range, by: 1 | -1, zone: string, now = nowHere()): { from: number; to: number } {
  const length = to - from
  const minute = Math.floor(now / 60_000) * 60
  if (length < 2 * DAY) {
    const end = Math.min(to + by * length, minute)
    return { from: end - length, to: end }
  }
  const last = isoDay(to - 1, zone)
  const days = daysBetween(isoDay(from, zone), last) + 1
  const end = Math.min(startOf(dayAfter(last, by * days + 1), zone), minute)
  return { from: startOf(dayAfter(isoDay(end - 1, zone), 1 - days), zone), to: end }
}

const daysBetween = (first: string, last: string): number => (Date.parse(last) - Date.parse(first)) / (DAY * 1000)

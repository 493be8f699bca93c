import { dateFormat } from '../parts/format.ts'

export type Unit = 'hour' | 'day' | 'week' | 'month'
export type Range = { from: number; to: number; key: string }

/** The presets stay in the address as they are, so that a shared link remains "the last 28 days". */
export const RANGES = ['7d', '28d', '90d', '180d', '365d', '730d'] as const
/** Presets by the calendar, with the names that saved views give them. */
export const CALENDAR_RANGES = [
  'today',
  'yesterday',
  'this_week',
  'last_week',
  'this_month',
  'last_month',
  'this_quarter',
  'last_quarter',
  'this_year',
  'last_year',
] as const
export const RANGE_TEXTS: Record<string, string> = {
  '7d': 'Last 7 days',
  '14d': 'Last 14 days',
  '28d': 'Last 28 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '180d': 'Last 180 days',
  '365d': 'Last 12 months',
  '730d': 'Last 24 months',
  today: 'Today',
  yesterday: 'Yesterday',
  this_week: 'This week',
  last_week: 'Last week',
  this_month: 'This month',
  last_month: 'Last month',
  this_quarter: 'This quarter',
  last_quarter: 'Last quarter',
  this_year: 'This year',
  last_year: 'Last year',
}
export const UNIT_OF: Record<string, Unit> = {
  '7d': 'day',
  '14d': 'day',
  '28d': 'day',
  '30d': 'day',
  '90d': 'week',
  '180d': 'week',
  '365d': 'month',
  '730d': 'month',
  today: 'hour',
  yesterday: 'hour',
  this_week: 'day',
  last_week: 'day',
  this_month: 'day',
  last_month: 'day',
  this_quarter: 'day',
  last_quarter: 'day',
  this_year: 'month',
  last_year: 'month',
}

const DAY = 86_400

/** Unix seconds of the range of an address, as whole days of the zone; whole weeks and months where those are the unit. */
export function rangeOf(search: { range?: string; from?: string; to?: string; unit?: string }, zone: string, now = Date.now()): Range {
  const to = Math.floor(now / 60_000) * 60
  if (search.from && search.to) return { from: Number(search.from), to: Number(search.to), key: 'own' }
  const key = search.range !== undefined && Object.hasOwn(UNIT_OF, search.range) ? search.range : '28d'
  if (!key.endsWith('d')) return { ...calendarRange(key, zone, to), key }
  const unit = search.unit ?? UNIT_OF[key]
  let day = isoDay(to - (Number.parseInt(key, 10) - 1) * DAY, zone)
  if (unit === 'week') {
    const date = new Date(`${day}T00:00:00Z`)
    date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
    day = date.toISOString().slice(0, 10)
  }
  if (unit === 'month') day = `${day.slice(0, 8)}01`
  return { from: startOf(day, zone), to, key }
}

/** The unit in which a range of one's own is shown first. */
export function unitFor({ from, to, key }: Range): Unit {
  const days = (to - from) / DAY
  return UNIT_OF[key] ?? (days <= 2 ? 'hour' : days <= 62 ? 'day' : days <= 200 ? 'week' : 'month')
}

/** `this_month`, `last_quarter`: from the first day of it, until now or until the first day of the next one. */
function calendarRange(key: string, zone: string, now: number): { from: number; to: number } {
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

/** The range of the same length before or after, in whole days of the zone unless it is shorter than two; never later than now. */
export function shifted({ from, to }: Range, by: 1 | -1, zone: string, now = Date.now()): { from: number; to: number } {
  const length = to - from
  const end = Math.min(to + by * length, Math.floor(now / 60_000) * 60)
  if (length < 2 * DAY) return { from: end - length, to: end }
  // Two hours more: a day of a clock change has 23 or 25 of them.
  const first = startOf(isoDay(end - length + 7_200, zone), zone)
  return { from: first, to: end === to + by * length ? Math.max(first + 1, startOf(isoDay(end + 7_200, zone), zone)) : end }
}

/** The calendar day of a Unix second in a zone: `2026-11-29`. */
export const isoDay = (second: number, zone: string) =>
  dateFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(second * 1000)

/** The Unix second at which a calendar day begins in a zone. Where the clock skips midnight, the first moment after it. */
export function startOf(day: string, zone: string): number {
  const wanted = Date.parse(`${day}T00:00:00Z`) / 1000
  let found = wanted
  for (let i = 0; i < 2; i++) found = wanted - offsetAt(found, zone)
  return found
}

function offsetAt(second: number, zone: string): number {
  const parts = dateFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(second * 1000)
  const of = (type: string) => Number(parts.find(part => part.type === type)?.value)
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) / 1000 - second
}

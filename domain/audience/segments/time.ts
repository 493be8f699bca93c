/** Seconds since 1970. Every value of a condition is a span: a day, or one second, as the API's instants are whole seconds. */
type Span = { start: number; end: number }
/**
 * A time before now, by calendar arithmetic in UTC: first years and months (a 31st becomes the last day of a shorter month), then days, then
 * time.
 */
type Ago = { months: number; days: number; seconds: number }
export type TimeValue = { is: 'span'; span: Span } | { is: 'ago'; ago: Ago }

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/
const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const AGO = /^-P(?=.)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/

const DAY_SECONDS = 86_400
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000
// Longer ago than anything that is stored, and within the range of Postgres: at most 6,000 years before now.
const LONGEST: Ago = { months: 2_000 * 12, days: 2_000 * 365, seconds: 2_000 * 365 * DAY_SECONDS }

function midnight(text: string): number | null {
  const match = DAY.exec(text)
  if (!match) return null
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const date = new Date(0)
  // Not Date.UTC: that reads the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day)
  if (year === 0 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  return date.getTime() / 1000
}

function instant(text: string): number | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, date, time, sign, zoneHours = '0', zoneMinutes = '0'] = match
  const start = midnight(date!)
  const [hours, minutes, seconds] = time!.split(':').map(Number) as [number, number, number]
  if (start === null || hours > 23 || minutes > 59 || seconds > 59 || Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return null
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60
  const at = start + hours * 3600 + minutes * 60 + seconds - (sign === '-' ? -zone : zone)
  return at >= 0 && at <= LAST ? at : null
}

/** Reads a day, a date-time or a negative duration; null for every other text. */
export function timeValue(text: string): TimeValue | null {
  const day = midnight(text)
  if (day !== null) return { is: 'span', span: { start: day, end: day + DAY_SECONDS } }
  const at = instant(text)
  if (at !== null) return { is: 'span', span: { start: at, end: at + 1 } }
  const match = AGO.exec(text)
  if (!match) return null
  const part = (group: number) => Number(match[group] ?? 0)
  const months = part(1) * 12 + part(2)
  const days = part(3) * 7 + part(4)
  return { is: 'ago', ago: { months, days, seconds: (part(5) * 60 + part(6)) * 60 + part(7) } }
}

/** Whether the time is before all that is stored: it is then compared as minus infinity and not computed. */
export const isForever = ({ months, days, seconds }: Ago): boolean =>
  months > LONGEST.months || days > LONGEST.days || seconds > LONGEST.seconds

/** The expression `timestamp - interval` of Postgres in TypeScript. `now` in whole seconds since 1970. */
function before(now: number, ago: Ago): number {
  if (isForever(ago)) return Number.NEGATIVE_INFINITY
  const date = new Date(now * 1000)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() - ago.months)
  const last = new Date(date)
  last.setUTCMonth(last.getUTCMonth() + 1, 0)
  date.setUTCDate(Math.min(day, last.getUTCDate()))
  return date.getTime() / 1000 - ago.days * DAY_SECONDS - ago.seconds
}

export function spanOf(value: TimeValue, now: number): Span {
  if (value.is === 'span') return value.span
  const start = before(now, value.ago)
  return { start, end: start + 1 }
}

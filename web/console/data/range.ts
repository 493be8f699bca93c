import { dateFormat } from '../parts/format.ts'
import { nowHere } from './clock.ts'

export type Unit = 'hour' | 'day' | 'week' | 'month'
export type Range = { from: number; to: number; key: string }

/** The presets stay in the address as they are, so that a shared link remains "the last 28 days". */
export const RANGES = ['7d', '28d', '90d', '180d', '365d', '730d'] as const
export const RANGE_TEXTS: Record<string, string> = {
  '7d': 'Last 7 days',
  '14d': 'Last 14 days',
  '28d': 'Last 28 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '180d': 'Last 180 days',
  '365d': 'Last 12 months',
  '730d': 'Last 24 months',
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
}

export const DAY = 86_400

/** Unix seconds of the range of an address, as whole days of the zone; whole weeks and months where those are the unit. */
export function rangeOf(search: { range?: string; from?: string; to?: string; unit?: string }, zone: string, now = nowHere()): Range {
  const to = Math.floor(now / 60_000) * 60
  if (search.from && search.to) return { from: Number(search.from), to: Number(search.to), key: 'own' }
  const key = search.range !== undefined && Object.hasOwn(UNIT_OF, search.range) ? search.range : '28d'
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

/** The calendar day of a Unix second in a zone: `2026-11-29`. */
export const isoDay = (second: number, zone: string) =>
  dateFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(second * 1000)

/** The Unix second at which a calendar day begins in a zone. Where the clock skips midnight, the first moment after it. */
export const startOf = (day: string, zone: string): number => secondOf(`${day}T00:00`, zone)

/** The Unix second of a time on the clocks of a zone, `2026-11-29T09:30`. Where they skip it, a moment beside it. */
export function secondOf(local: string, zone: string): number {
  const wanted = Date.parse(`${local}Z`) / 1000
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

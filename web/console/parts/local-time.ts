import { dateFormat } from './format.ts'

const PARTS = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

/** A Unix second as a field of a form shows it in the zone: `2026-11-29T13:05`. Empty for what is no second. */
export function localOf(second: string | undefined, zone: string): string {
  const at = Number(second)
  if (!second || !Number.isSafeInteger(at) || Math.abs(at) > 8_640_000_000_000) return ''
  const parts = dateFormat('en-CA', { timeZone: zone, ...PARTS }).formatToParts(at * 1000)
  const of = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  return `${of('year')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}`
}

/** The Unix second of a local time in the zone. A time that the clock skips is the one an offset later; of one that comes twice, the first. */
export function secondAt(local: string, zone: string): number | undefined {
  const wanted = Date.parse(`${local}Z`) / 1000
  if (local === '' || Number.isNaN(wanted)) return undefined
  let second = wanted - 86_400
  for (let i = 0; i < 3; i++) second += wanted - Date.parse(`${localOf(String(second), zone)}Z`) / 1000
  return second
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/

/**
 * Microseconds since 1970 of an RFC 3339 date-time; further digits are cut off. Exact up to 2^53 µs, the year 2255, and so for every
 * year that an event may have. The `date-time` format of the API description has checked the form.
 */
export function micros(dateTime: string): number {
  // Fast path for the common forms, UTC without a fraction or with milliseconds: four times faster, and every ingested item passes here.
  if (dateTime.endsWith('Z') && (dateTime.length === 20 || (dateTime.length === 24 && dateTime[19] === '.')))
    return Date.parse(dateTime) * 1000
  const match = DATE_TIME.exec(dateTime)
  if (!match) throw new RangeError(`not an RFC 3339 date-time: ${dateTime}`)
  const [, date, time, fraction = '', zone] = match
  return Date.parse(`${date}T${time}${zone!.toUpperCase()}`) * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

/** The inverse, as in `2026-03-01T09:00:00.000123Z`: Postgres reads this form without loss. */
export function isoMicros(value: number): string {
  const ms = Math.floor(value / 1000)
  return `${new Date(ms).toISOString().slice(0, -1)}${String(value - ms * 1000).padStart(3, '0')}Z`
}

/** Microseconds since 1970 of a time of the log as Postgres writes it, `2026-03-01 09:00:00.000123+00`. */
export const logMicros = (text: string): number => micros(`${text.slice(0, 10)}T${text.slice(11).replace(/\+00$/, 'Z')}`)

/** A time of a period: the whole second of `ms`, ISO 8601, UTC. */
export const secondOf = (ms: number): string => `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`

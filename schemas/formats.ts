// The formats of the description. The compiled validators call `formats`. Handlers read the same text with `instant`, so a text that
// passes validation is always a time.

import { isIP } from 'node:net'

const shape = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,60})?(?:[Zz]|[+-]\d\d:\d\d)$/
const end = Date.UTC(10000, 0)

// By character code: a batch contains thousands of times, and capture groups cost five times as much as the rest of the check.
const digit = (text: string, at: number) => text.charCodeAt(at) - 48
const two = (text: string, at: number) => digit(text, at) * 10 + digit(text, at + 1)

const daysIn = (year: number, month: number) => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

const milliseconds = (text: string) => {
  if (text[19] !== '.') return 0
  let value = 0
  let weight = 100
  for (let at = 20; weight >= 1; at++, weight /= 10) {
    const n = digit(text, at)
    if (!(n >= 0 && n <= 9)) break
    value += n * weight
  }
  return value
}

// Of an offset. Postgres reads no more, and no place is further from UTC than 14 hours.
const MOST_HOURS = 15

// Minutes east of UTC; NaN when the hours or minutes are out of range.
const offsetOf = (text: string) => {
  const last = text.length - 1
  if (text[last] === 'Z' || text[last] === 'z') return 0
  const hours = two(text, last - 4)
  const minutes = two(text, last - 1)
  if (hours > MOST_HOURS || minutes > 59) return Number.NaN
  return (text[last - 5] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/**
 * Milliseconds since 1970 (finer fractions cut off) of an RFC 3339 date-time within 1970-01-01T00:00:00Z .. 9999-12-31T23:59:59.999…Z;
 * undefined for every other text. `Date.parse` would accept February 30, the time 24:00 and other texts that RFC 3339 does not allow.
 * Second 60 is refused: neither Postgres nor `Date` can store it. So are offsets of 16 hours and more, and fractions of more than 60 digits:
 * Postgres does not read them, and many statements get the text as it is.
 */
export const instant = (text: string): number | undefined => {
  if (!shape.test(text)) return undefined
  const year = two(text, 0) * 100 + two(text, 2)
  const month = two(text, 5)
  const day = two(text, 8)
  const hour = two(text, 11)
  const minute = two(text, 14)
  const second = two(text, 17)
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59) return undefined
  // 1969-12-31T23:30:00-01:00 lies in 1970. No earlier year can reach it, and Date.UTC would read the years 0..99 as 19xx.
  if (year < 1969) return undefined
  const at = Date.UTC(year, month - 1, day, hour, minute, second) + milliseconds(text) - offsetOf(text) * 60_000
  return at >= 0 && at < end ? at : undefined
}

/** Postgres cannot store NUL in text, and half of a surrogate pair is not a character. */
export const storable = (text: string) => !text.includes('\0') && text.isWellFormed()

/** Whether it is an IPv4 address written as one of IPv6, in any of its forms: ::ffff:10.0.0.1, 0:0:0:0:0:ffff:a00:1. */
const isMapped = (address: string) => isIP(address) === 6 && /^\[::ffff:/.test(new URL(`http://[${address}]`).hostname)

/** An IP address, or a network as an address with the length of its prefix: 203.0.113.7, 203.0.113.0/24, 2001:db8::/32. */
const isNetwork = (text: string) => {
  const [address = '', prefix, ...more] = text.split('/')
  // A zone such as %eth0 has a meaning on one machine only. An IPv4 address is compared as such, however a socket writes it.
  const version = address.includes('%') || isMapped(address) ? 0 : isIP(address)
  if (version === 0 || more.length > 0) return false
  return prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128))
}

export const formats = {
  'date-time': (text: string) => instant(text) !== undefined,
  network: isNetwork,
  // Not in the description: the generator adds it to every string of a request.
  text: storable,
}

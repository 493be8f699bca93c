import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formats, instant } from '../../schemas/formats.ts'

const last = Date.UTC(10000, 0) - 1

describe('date-time', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-03-01T09:00:00Z', Date.UTC(2026, 2, 1, 9)],
    ['2026-03-01t09:00:00z', Date.UTC(2026, 2, 1, 9)],
    ['2026-03-01T09:00:00+05:30', Date.UTC(2026, 2, 1, 3, 30)],
    ['2026-03-01T09:00:00-00:00', Date.UTC(2026, 2, 1, 9)],
    ['2026-03-01T09:00:00.5Z', Date.UTC(2026, 2, 1, 9, 0, 0, 500)],
    ['2026-03-01T09:00:00.123456789+00:00', Date.UTC(2026, 2, 1, 9, 0, 0, 123)],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29)],
    ['1969-12-31T23:30:00-01:00', 1_800_000],
    ['1969-12-31T08:01:00-15:59', 0],
    [`2026-03-01T09:00:00.${'9'.repeat(60)}+15:59`, Date.UTC(2026, 1, 28, 17, 1, 0, 999)],
    ['9999-12-31T23:59:59Z', last - 999],
    ['9999-12-31T23:59:59.999999Z', last],
  ])('%s', (text, at) => {
    expect(instant(text)).toBe(at)
    expect(formats['date-time'](text)).toBe(true)
  })

  test.each([
    ['', 'nothing'],
    ['2026-03-01', 'a date'],
    ['2026-03-01T09:00:00', 'no zone'],
    ['2026-03-01 09:00:00Z', 'a blank for the T'],
    ['2026-03-01T09:00Z', 'no seconds'],
    ['2026-03-01T09:00:00.Z', 'a point without digits'],
    ['2026-03-01T09:00:00,5Z', 'a comma'],
    ['2026-03-01T09:00:00+0530', 'an offset without colon'],
    ['2026-03-01T09:00:00+05', 'hours only'],
    ['2026-03-01T09:00:00+24:00', 'an offset of a day'],
    ['2026-03-01T09:00:00+16:00', 'an offset that Postgres does not read'],
    ['2026-03-01T09:00:00-23:59', 'an offset that Postgres does not read'],
    [`2026-03-01T09:00:00.${'1'.repeat(61)}Z`, 'a fraction that Postgres may not read'],
    ['2026-03-01T09:00:00+00:60', 'an offset of 60 minutes'],
    ['2026-02-30T00:00:00Z', 'February 30'],
    ['2026-02-29T00:00:00Z', 'no leap year'],
    ['2100-02-29T00:00:00Z', 'a century'],
    ['2026-04-31T00:00:00Z', 'April 31'],
    ['2026-00-01T00:00:00Z', 'month 0'],
    ['2026-13-01T00:00:00Z', 'month 13'],
    ['2026-01-00T00:00:00Z', 'day 0'],
    ['2026-01-01T24:00:00Z', 'hour 24'],
    ['2026-01-01T00:60:00Z', 'minute 60'],
    ['2016-12-31T23:59:60Z', 'a leap second'],
    ['1969-12-31T23:59:59Z', 'before 1970'],
    ['1970-01-01T00:30:00+01:00', 'before 1970 in UTC'],
    ['0070-01-01T00:00:00Z', 'the year 70'],
    ['9999-12-31T23:59:59-00:01', 'after 9999 in UTC'],
    ['10000-01-01T00:00:00Z', 'five digits'],
    ['2026-03-01T09:00:00Z\n', 'a line break behind'],
    ['２０26-03-01T09:00:00Z', 'other digits'],
  ])('refuses %j: %s', text => {
    expect(instant(text)).toBeUndefined()
  })

  const pad = (n: number, width = 2) => String(n).padStart(width, '0')

  test('every instant of the window, written with any offset, is read back', () => {
    const zone = fc.integer({ min: -959, max: 959 })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: last }), zone, fc.boolean(), fc.stringMatching(/^\d{0,9}$/), (at, minutes, lower, finer) => {
        const local = new Date(at + minutes * 60_000)
        fc.pre(local.getUTCFullYear() <= 9999)
        const offset =
          minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`
        const text = `${local.toISOString().slice(0, -1)}${finer}${offset}`
        expect(instant(lower ? text.toLowerCase() : text)).toBe(at)
      }),
      { numRuns: 5000 },
    )
  })

  test('of all digits in place, just those of the calendar pass', () => {
    const numbers = [9999, 13, 32, 25, 61, 61].map(max => fc.integer({ min: 0, max }))
    fc.assert(
      fc.property(fc.tuple(...numbers), parts => {
        const [year, month, day, hour, minute, second] = parts as [number, number, number, number, number, number]
        const text = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}:${pad(second)}`
        const real = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
        const valid = year >= 1970 && real.toISOString().slice(0, 19) === text
        expect(instant(`${text}Z`)).toBe(valid ? real.getTime() : undefined)
      }),
      { numRuns: 20_000 },
    )
  })
})

import fc from 'fast-check'
import { DateTime } from 'luxon'
import { expect, test } from 'vitest'
import { longestWindow, type ViewRange, viewWindow } from '../../domain/analytics/views/range.ts'
import { share } from '../harness/effort.ts'

const ZONES = ['utc', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Africa/Cairo']
const NOW = fc.integer({ min: Date.UTC(2000, 0) / 1_000, max: Date.UTC(2040, 0) / 1_000 })
const HOUR = 3_600

/** The first and the last day of each range, today being Wednesday 2028-03-01. */
const DAYS: Record<Extract<ViewRange, string>, [string, string]> = {
  today: ['2028-03-01', '2028-03-01'],
  yesterday: ['2028-02-29', '2028-02-29'],
  last_7_days: ['2028-02-24', '2028-03-01'],
  last_14_days: ['2028-02-17', '2028-03-01'],
  last_28_days: ['2028-02-03', '2028-03-01'],
  last_30_days: ['2028-02-01', '2028-03-01'],
  last_90_days: ['2027-12-03', '2028-03-01'],
  last_180_days: ['2027-09-04', '2028-03-01'],
  last_365_days: ['2027-03-03', '2028-03-01'],
  this_week: ['2028-02-28', '2028-03-01'],
  last_week: ['2028-02-21', '2028-02-27'],
  this_month: ['2028-03-01', '2028-03-01'],
  last_month: ['2028-02-01', '2028-02-29'],
  this_quarter: ['2028-01-01', '2028-03-01'],
  last_quarter: ['2027-10-01', '2027-12-31'],
  this_year: ['2028-01-01', '2028-03-01'],
  last_year: ['2027-01-01', '2027-12-31'],
}
const ranges = Object.keys(DAYS) as Extract<ViewRange, string>[]

test.each(ranges)('%s has its days', range => {
  const at = DateTime.fromISO('2028-03-01T15:30:00', { zone: 'America/Santiago' })
  const { from, to } = viewWindow(range, at.toSeconds(), 'America/Santiago')
  const dayOf = (second: number) => DateTime.fromSeconds(second, { zone: 'America/Santiago' }).toISODate()
  expect([dayOf(from), dayOf(to - 1)]).toEqual(DAYS[range])
  expect(dayOf(from - 1)).not.toBe(dayOf(from))
})

test.each(ranges)('%s begins with a day, lies before the next second, and is never longer than the window that is checked', range => {
  fc.assert(
    fc.property(NOW, fc.constantFrom(...ZONES), (now, zone) => {
      const { from, to } = viewWindow(range, now, zone)
      expect(from).toBe(DateTime.fromSeconds(from, { zone }).startOf('day').toSeconds())
      expect(to).toBeGreaterThan(from)
      expect(to).toBeLessThanOrEqual(now + 1)
      const longest = longestWindow(range, now)
      expect(to - from).toBeLessThanOrEqual(longest.to - longest.from + HOUR)
    }),
    { numRuns: share(60) },
  )
})

test('a fixed range is itself', () => {
  const fixed = { from: 5, to: 9 }
  expect([viewWindow(fixed, 1_000, 'utc'), longestWindow(fixed, 1_000)]).toEqual([fixed, fixed])
})

import { describe, expect, test } from 'vitest'
import { bucketText } from '../../../web/console/chart/picture.ts'
import { joined, split } from '../../../web/console/data/address.ts'
import { calendarRangeOf, shifted, unitFor } from '../../../web/console/data/calendar.ts'
import { rangeOf, startOf } from '../../../web/console/data/range.ts'
import { presetOf, viewRange } from '../../../web/console/data/views.ts'

const NOW = Date.parse('2026-11-29T13:00:30Z')
const iso = (second: number) => new Date(second * 1000).toISOString().slice(0, 16)

describe('ranges of the address', () => {
  test('begin with a whole day of the zone', () => {
    expect(iso(rangeOf({ range: '28d' }, 'Europe/Berlin', NOW).from)).toBe('2026-11-01T23:00')
    expect(iso(rangeOf({ range: '28d' }, 'UTC', NOW).to)).toBe('2026-11-29T13:00')
  })

  test('begin with a whole week or month where that is the unit', () => {
    expect(iso(rangeOf({ range: '90d' }, 'UTC', NOW).from)).toBe('2026-08-31T00:00')
    expect(new Date(rangeOf({ range: '90d' }, 'UTC', NOW).from * 1000).getUTCDay()).toBe(1)
    expect(iso(rangeOf({ range: '365d' }, 'UTC', NOW).from)).toBe('2025-11-01T00:00')
  })

  test('are the usual one for what is none', () => {
    expect(rangeOf({ range: 'constructor' }, 'UTC', NOW).key).toBe('28d')
    expect(rangeOf({ from: '100', to: '200' }, 'UTC', NOW)).toEqual({ from: 100, to: 200, key: 'own' })
  })

  test('a day begins right on days on which the clock changes', () => {
    expect(iso(startOf('2026-03-29', 'Europe/Berlin'))).toBe('2026-03-28T23:00')
    expect(iso(startOf('2026-03-30', 'Europe/Berlin'))).toBe('2026-03-29T22:00')
    expect(iso(startOf('2026-11-01', 'America/New_York'))).toBe('2026-11-01T04:00')
    expect(iso(startOf('2026-11-02', 'America/New_York'))).toBe('2026-11-02T05:00')
    expect(iso(startOf('2026-10-04', 'Australia/Lord_Howe'))).toBe('2026-10-03T13:30')
    expect(iso(startOf('2026-06-01', 'Asia/Kathmandu'))).toBe('2026-05-31T18:15')
  })
})

describe('ranges of the calendar', () => {
  const days = (range: string, zone = 'UTC') => {
    const { from, to } = calendarRangeOf({ range }, zone, NOW)
    return [iso(from), iso(to)]
  }

  test('begin with their first day, and end now or with the next one', () => {
    expect(days('yesterday')).toEqual(['2026-11-28T00:00', '2026-11-29T00:00'])
    expect(days('this_week')).toEqual(['2026-11-23T00:00', '2026-11-29T13:00'])
    expect(days('last_month', 'Europe/Berlin')).toEqual(['2026-09-30T22:00', '2026-10-31T23:00'])
    expect(days('last_quarter')).toEqual(['2026-07-01T00:00', '2026-10-01T00:00'])
    expect(days('this_year')).toEqual(['2026-01-01T00:00', '2026-11-29T13:00'])
  })

  test('have the names that saved views give them', () => {
    for (const range of ['28d', 'this_month', '365d']) {
      const kept = viewRange(calendarRangeOf({ range }, 'UTC', NOW))
      expect(presetOf(kept as string)).toBe(range)
    }
    expect(viewRange({ key: 'own', from: 1, to: 2 })).toEqual({ from: 1, to: 2 })
  })

  test('the range before has the same days, also where the clock changes, and none is later than now', () => {
    const zone = 'Europe/Berlin'
    const before = shifted({ from: startOf('2026-10-20', zone), to: startOf('2026-10-27', zone), key: 'own' }, -1, zone, NOW)
    expect([before.from, before.to]).toEqual([startOf('2026-10-13', zone), startOf('2026-10-20', zone)])
    const { to } = shifted({ from: startOf('2026-11-20', zone), to: startOf('2026-11-27', zone), key: 'own' }, 1, zone, NOW)
    expect(iso(to)).toBe('2026-11-29T13:00')
  })

  test.each([
    '00:30',
    '12:00',
    '23:59',
  ])('the range before one that lasts until %s of today has as many days, and ends where it began', time => {
    const now = Date.parse(`2026-11-29T${time}:00Z`)
    const until = rangeOf({ range: '7d' }, 'UTC', now)
    const before = shifted(until, -1, 'UTC', now)
    expect([iso(before.from), iso(before.to)]).toEqual(['2026-11-16T00:00', '2026-11-23T00:00'])
    expect(shifted({ ...before, key: 'own' }, 1, 'UTC', now)).toEqual({ from: until.from, to: until.to })
    expect(shifted(until, 1, 'UTC', now)).toEqual({ from: until.from, to: until.to })
  })

  test('have units that are read at a glance', () => {
    const own = (length: number) => unitFor({ from: 0, to: length * 86_400, key: 'own' })
    expect([1, 28, 90, 400].map(own)).toEqual(['hour', 'day', 'week', 'month'])
  })
})

test('an hour that the clock shows twice has its offset, a day among those of two years its year', () => {
  const night = startOf('2026-10-25', 'Europe/Berlin')
  const hours = Array.from({ length: 5 }, (_, hour) => night + hour * 3_600)
  expect(hours.map((_, at) => bucketText(hours, at, 'hour', 'Europe/Berlin', true))).toEqual([
    '25 Oct, 00:00',
    '25 Oct, 01:00',
    '25 Oct, 02:00 GMT+2',
    '25 Oct, 02:00 GMT+1',
    '25 Oct, 03:00',
  ])
  const weeks = Array.from({ length: 60 }, (_, week) => Date.parse('2025-11-03T00:00:00Z') / 1000 + week * 604_800)
  expect(bucketText(weeks, 0, 'week', 'UTC')).toBe('3 Nov 25')
})

test('values of a filter come back from the address as they were', () => {
  const values = ['DE', 'a,b', '%2C', '100%', 'Ü & ?']
  expect(split(joined(values))).toEqual(values)
  expect([joined([]), split(undefined)]).toEqual([undefined, []])
})

import fc from 'fast-check'
import { DateTime, Duration, IANAZone } from 'luxon'
import { expect, test } from 'vitest'
import { deadlineAfter, nextInstantAt } from '../../../domain/automations/automation-runs/deadline.ts'

const HOUR = 3_600_000
const ZONES = [...Intl.supportedValuesOf('timeZone'), 'UTC']

/** Changes of a zone's offset within a year, found by bisection: [first instant of the new offset, minutes before, minutes after]. */
function changes(zone: IANAZone, from: number, to: number): [number, number, number][] {
  const found: [number, number, number][] = []
  for (let at = from; at < to; at += 24 * HOUR) {
    const [before, after] = [zone.offset(at), zone.offset(at + 24 * HOUR)]
    if (before === after) continue
    let [low, high] = [at, at + 24 * HOUR]
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (zone.offset(middle) === before) low = middle
      else high = middle
    }
    found.push([high, before, after])
  }
  return found
}

const clockOf = (local: number) => new Date(local).toISOString().slice(11, 16)
const shown = (at: number, zone: IANAZone) => clockOf(at + zone.offset(at) * 60_000)

test('at every change of every zone: the next instant of the local time, the first of two, and in a gap the time shifted by its size', () => {
  let gaps = 0
  let overlaps = 0
  for (const name of ZONES) {
    const zone = IANAZone.create(name)
    for (const [from, to] of [
      [Date.UTC(2011, 11, 1), Date.UTC(2012, 0, 10)],
      [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)],
    ] as const) {
      for (const [change, before, after] of changes(zone, from, to)) {
        const size = (after - before) * 60_000
        for (const minutes of [-90, -30, 0, 1, 30, 59, 90, 150]) {
          // A local time around the change, as the clock would show it without the change.
          const local = change + before * 60_000 + minutes * 60_000
          const time = clockOf(local)
          const begin = change - 4 * HOUR
          const at = Date.parse(nextInstantAt(new Date(begin).toISOString(), time, name))
          expect(at).toBeGreaterThanOrEqual(begin)
          const isSkipped = size > 0 && minutes >= 0 && minutes * 60_000 < size
          if (isSkipped) {
            gaps++
            expect([name, new Date(at).toISOString()]).toEqual([name, new Date(change + minutes * 60_000).toISOString()])
          } else {
            expect([name, shown(at, zone)]).toEqual([name, time])
            // No earlier instant since the start has this local time.
            for (let earlier = begin; earlier < at; earlier += 60_000)
              if (clockOf(earlier + (earlier < change ? before : after) * 60_000) === time)
                expect.fail(`${name}: ${time} was shown at ${new Date(earlier).toISOString()} already`)
            if (size < 0 && minutes < 0 && minutes * 60_000 >= size) {
              overlaps++
              expect(at).toBeLessThan(change)
            }
          }
        }
      }
    }
  }
  expect(gaps).toBeGreaterThan(300)
  expect(overlaps).toBeGreaterThan(100)
})

test('the start itself counts, in whole seconds; a time that has just passed is tomorrow', () => {
  expect(nextInstantAt('2026-03-10 08:00:00+00', '09:00', 'Europe/Berlin')).toBe('2026-03-10T08:00:00.000Z')
  expect(nextInstantAt('2026-03-10 08:00:00.734512+00', '09:00', 'Europe/Berlin')).toBe('2026-03-10T08:00:00.000Z')
  expect(nextInstantAt('2026-03-10 08:00:01+00', '09:00', 'Europe/Berlin')).toBe('2026-03-11T08:00:00.000Z')
  // Across the change to summer time the wall clock counts, not 24 hours.
  expect(nextInstantAt('2026-03-28 09:00:00+00', '09:00', 'Europe/Berlin')).toBe('2026-03-29T07:00:00.000Z')
})

test('the times of a day that a zone skipped are on the next day', () => {
  // Samoa went from 29 to 31 December 2011.
  expect(nextInstantAt('2011-12-30 09:30:00+00', '09:00', 'Pacific/Apia')).toBe('2011-12-30T19:00:00.000Z')
})

test('years and months follow the calendar, in UTC', () => {
  expect(deadlineAfter('2026-01-31 10:00:00.5+00', 'P1M')).toBe('2026-02-28T10:00:00.500Z')
  expect(deadlineAfter('2028-02-29 00:00:00+00', 'P1Y')).toBe('2029-02-28T00:00:00.000Z')
  expect(deadlineAfter('2026-03-28 12:00:00+00', 'P1DT90M')).toBe('2026-03-29T13:30:00.000Z')
  expect(deadlineAfter('2026-01-01 00:00:00+00', 'P1W')).toBe('2026-01-08T00:00:00.000Z')
})

test('a duration that needs no calendar ends when the calendar says', () => {
  const part = fc.option(fc.nat(400), { nil: null })
  const durations = fc.tuple(part, part, part, part, part).map(([weeks, days, hours, minutes, seconds]) => {
    const of = (count: number | null, unit: string) => (count === null ? '' : `${count}${unit}`)
    const time = of(hours, 'H') + of(minutes, 'M') + of(seconds, 'S')
    return `P${of(weeks, 'W')}${of(days, 'D')}${time && `T${time}`}`
  })
  const times = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(times, fc.nat(999), durations, (time, micros, duration) => {
      fc.pre(duration !== 'P')
      const iso = time.toISOString()
      const begin = `${iso.slice(0, 10)} ${iso.slice(11, 23)}${String(micros).padStart(3, '0')}+00`
      const end = DateTime.fromISO(iso, { zone: 'utc' }).plus(Duration.fromISO(duration)).toISO()
      expect(deadlineAfter(begin, duration)).toBe(end)
    }),
  )
})

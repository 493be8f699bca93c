import { describe, expect, test } from 'vitest'
import { rangeOf, startOf } from '../../../web/console/data/range.ts'

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

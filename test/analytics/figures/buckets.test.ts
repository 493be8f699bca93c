import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { DateTime, IANAZone } from 'luxon'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BucketUnit, bucketStarts, intervalSql, windowBefore } from '../../../domain/analytics/figures/buckets.ts'
import { onPostgres } from '../../../domain/analytics/figures/postgres.ts'
import { quotientSql } from '../../../domain/analytics/figures/replica/source.ts'
import type { Dialect } from '../../../domain/analytics/figures/source.ts'
import { type FreshDatabase, freshDatabase } from '../../harness/database.ts'

const seconds = (text: string) => Date.parse(text) / 1000
const starts = (from: string, to: string, unit: BucketUnit, zone: string | null = null) =>
  bucketStarts({ from: seconds(from), to: seconds(to) }, unit, zone).map(start => new Date(start * 1000).toISOString().slice(0, 19))

describe('without a zone', () => {
  test('buckets step from the beginning of the window', () => {
    expect(starts('2026-03-01T12:34:56Z', '2026-03-03T12:34:57Z', 'day')).toEqual([
      '2026-03-01T12:34:56',
      '2026-03-02T12:34:56',
      '2026-03-03T12:34:56',
    ])
    expect(starts('2026-03-01T00:00Z', '2026-03-01T02:00Z', 'hour')).toHaveLength(2)
    expect(starts('2026-03-01T00:00Z', '2026-03-15T00:00Z', 'week')).toHaveLength(2)
  })

  test('months have the day of the beginning, cut to their length, and do not drift', () => {
    expect(starts('2026-01-31T05:00Z', '2026-05-01T00:00Z', 'month')).toEqual([
      '2026-01-31T05:00:00',
      '2026-02-28T05:00:00',
      '2026-03-31T05:00:00',
      '2026-04-30T05:00:00',
    ])
  })
})

describe('with a zone', () => {
  test('the first bucket is cut, and days have 23 and 25 hours where the clocks change', () => {
    expect(starts('2026-03-28T10:00Z', '2026-03-30T10:00Z', 'day', 'Europe/Berlin')).toEqual([
      '2026-03-28T10:00:00',
      '2026-03-28T23:00:00',
      '2026-03-29T22:00:00',
    ])
    expect(starts('2026-10-24T22:00Z', '2026-10-26T10:00Z', 'day', 'Europe/Berlin')).toEqual(['2026-10-24T22:00:00', '2026-10-25T23:00:00'])
  })

  test('weeks begin on Mondays and months on their first days', () => {
    expect(starts('2026-03-03T00:00Z', '2026-03-20T00:00Z', 'week', 'Asia/Kathmandu')).toEqual([
      '2026-03-03T00:00:00',
      '2026-03-08T18:15:00',
      '2026-03-15T18:15:00',
    ])
    expect(starts('2026-01-31T23:00Z', '2026-04-15T00:00Z', 'month', 'America/New_York')).toEqual([
      '2026-01-31T23:00:00',
      '2026-02-01T05:00:00',
      '2026-03-01T05:00:00',
      '2026-04-01T04:00:00',
    ])
  })

  test('an hour that the clocks show twice is two, and one that they skip has none', () => {
    expect(starts('2026-10-25T00:00Z', '2026-10-25T03:00Z', 'hour', 'Europe/Berlin')).toHaveLength(3)
    expect(starts('2026-03-29T00:00Z', '2026-03-29T03:00Z', 'hour', 'Europe/Berlin')).toHaveLength(3)
  })

  test('where the clocks move by half an hour, one hour is shorter or longer', () => {
    // 02:00 becomes 02:30, and half a year later 02:00 becomes 01:30.
    expect(starts('2026-10-03T14:30Z', '2026-10-03T17:30Z', 'hour', 'Australia/Lord_Howe')).toEqual([
      '2026-10-03T14:30:00',
      '2026-10-03T15:30:00',
      '2026-10-03T16:00:00',
      '2026-10-03T17:00:00',
    ])
    expect(starts('2026-04-04T13:00Z', '2026-04-04T17:00Z', 'hour', 'Australia/Lord_Howe')).toEqual([
      '2026-04-04T13:00:00',
      '2026-04-04T14:00:00',
      '2026-04-04T15:30:00',
      '2026-04-04T16:30:00',
    ])
  })

  test('a day without midnight begins where the clocks go on, and a date that was skipped has no bucket', () => {
    expect(starts('2018-11-03T12:00Z', '2018-11-05T12:00Z', 'day', 'America/Sao_Paulo')).toEqual([
      '2018-11-03T12:00:00',
      '2018-11-04T03:00:00',
      '2018-11-05T02:00:00',
    ])
    expect(starts('2011-12-29T12:00Z', '2012-01-01T09:00Z', 'day', 'Pacific/Apia')).toEqual([
      '2011-12-29T12:00:00',
      '2011-12-30T10:00:00',
      '2011-12-31T10:00:00',
    ])
  })
})

test('no more buckets are computed than asked for', () => {
  expect(bucketStarts({ from: 0, to: 253_402_300_799 }, 'hour', 'Europe/Berlin', 5)).toHaveLength(5)
})

const ZONES = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Apia', 'Africa/Casablanca']
const instant = fc.integer({ min: 1_000_000_000, max: 1_900_000_000 })
const unit = fc.constantFrom<BucketUnit>('hour', 'day', 'week', 'month')
const question = fc.record({ from: instant, length: fc.integer({ min: 1, max: 60 * 86_400 }), unit, zone: fc.constantFrom(null, ...ZONES) })

test('a day of a zone begins exactly where its date changes', () => {
  for (const zone of ZONES)
    for (const around of ['2026-03-08', '2026-03-22', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01']) {
      const [from, to] = [seconds(`${around}T00:00Z`) - 2 * 86_400, seconds(`${around}T00:00Z`) + 2 * 86_400]
      const iana = IANAZone.create(zone)
      const days = new Set(bucketStarts({ from, to }, 'day', zone))
      const date = (at: number) => DateTime.fromSeconds(at, { zone: iana }).toISODate()
      for (let at = from + 900; at < to; at += 900) expect(days.has(at), `${zone} ${at}`).toBe(date(at) !== date(at - 900))
    }
})

type NumbersOf = (times: readonly bigint[], sql: (divide: Dialect['divide']) => string) => Promise<number[]>

describe('in SQL', () => {
  let database: FreshDatabase
  let instance: DuckDBInstance
  beforeAll(async () => {
    database = await freshDatabase()
    instance = await DuckDBInstance.create(':memory:')
  })
  afterAll(async () => {
    instance.closeSync()
    await database.drop()
  })

  const byPostgres: NumbersOf = (times, sql) =>
    onPostgres(database.pool, 1, async ({ dialect, query }) => {
      const picked = {
        name: 'times',
        columns: ['n', 'time'].map((name, j) => ({ name, values: times.map((at, i) => [BigInt(i), at][j]!) })),
      }
      const rows = await query({ text: `select ${sql(dialect.divide)} as number from times t order by t.n`, relations: [picked] })
      return rows.map(row => Number(row.number))
    })
  const byDuckDb: NumbersOf = async (times, sql) => {
    const connection = await instance.connect()
    try {
      const rows = times.map((at, i) => `(${i}, ${at}::bigint)`).join(', ')
      const read = await connection.runAndReadAll(`select ${sql(quotientSql)} as number from (values ${rows}) t(n, time) order by t.n`)
      return read.getRows().map(([number]) => Number(number))
    } finally {
      connection.closeSync()
    }
  }

  test.each([
    ['Postgres', byPostgres],
    ['DuckDB', byDuckDb],
  ])('a time has the number of the interval that it lies in: %s', async (_, numbersOf) => {
    await fc.assert(
      fc.asyncProperty(question, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 }), async (picked, fractions) => {
        const window = { from: picked.from, to: picked.from + picked.length }
        const all = [windowBefore(window), window].flatMap(one => bucketStarts(one, picked.unit, picked.zone))
        const edges = all.flatMap(start => [start - 1, start]).filter(at => at >= all[0]!)
        const random = fractions.map(fraction => all[0]! + Math.floor(fraction * (window.to - all[0]!)))
        const times = [...edges, ...random, window.to - 1].slice(0, 500).filter(at => at < window.to)
        const grid = { starts: all, end: window.to }
        const expected = times.map(at => all.findLastIndex(start => start <= at))
        expect(await numbersOf(times.map(BigInt), divide => intervalSql('t.time', grid, divide))).toEqual(expected)
      }),
      { numRuns: 100, seed: 3 },
    )
  })

  test('a replica divides by a multiplication what a multiplication can, and the rest by a division', async () => {
    const whole = (bits: number) => fc.bigInt({ min: 1n, max: 2n ** BigInt(bits) })
    const divisor = fc.oneof(fc.constantFrom(1n, 3_600n, 86_400n, 604_800n), whole(20), whole(45))
    await fc.assert(
      fc.asyncProperty(divisor, fc.oneof(whole(24), whole(31), whole(52)), fc.array(whole(52)), async (by, below, drawn) => {
        const last = ((below - 1n) / by) * by
        const numbers = [0n, below - 1n, last, last - 1n, by - 1n, by, ...drawn.map(one => one % below)].filter(n => n >= 0n && n < below)
        const quotients = await byDuckDb(numbers, divide => divide('t.time', Number(by), Number(below)))
        expect(quotients).toEqual(numbers.map(n => Number(n / by)))
      }),
      { numRuns: 300, seed: 4 },
    )
    expect(quotientSql('t.time', 86_400, 90 * 86_400)).toMatch(/>>/)
    expect(quotientSql('t.time', 86_400, 2 ** 52)).toMatch(/\/\//)
  })
})

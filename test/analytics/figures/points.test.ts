// The times of points: where their buckets end, which are less than whole ones, and the buckets that they are compared with.
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BucketUnit, bucketStarts, bucketsOf } from '../../../domain/analytics/figures/buckets.ts'
import { CHARTS } from '../../../domain/analytics/figures/chart-table.ts'
import { startApi, type TestApi } from '../../harness/api.ts'

const HOUR = 3_600
const DAY = 86_400
/** Where clocks change by an hour or half of one, at night and at midnight, or never. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Asia/Kathmandu',
  'UTC',
]
const UNITS = ['hour', 'day', 'week', 'month'] as const
const seconds = (text: string) => Date.parse(text) / 1000
/** Days around which clocks change somewhere. */
const CHANGES = ['2018-11-04', '2011-12-30', '2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01'].map(
  seconds,
)

const length = { hour: 2 * DAY, day: 40 * DAY, week: 200 * DAY, month: 800 * DAY }
const picked = fc
  .record({ change: fc.constantFrom(...CHANGES), unit: fc.constantFrom<BucketUnit>(...UNITS), zone: fc.constantFrom(null, ...ZONES) })
  .chain(({ change, unit, zone }) =>
    fc.record({
      ...{ unit: fc.constant(unit), zone: fc.constant(zone) },
      from: fc.oneof(
        fc.integer({ min: change - length[unit], max: change + DAY }),
        fc.constantFrom(-48, -4, 0, 3).map(n => change + n * HOUR),
      ),
      size: fc.integer({ min: 1, max: length[unit] }),
    }),
  )

test('buckets follow each other from the beginning of the window to its end', () => {
  fc.assert(
    fc.property(picked, ({ from, size, unit, zone }) => {
      const window = { from, to: from + size }
      const buckets = bucketsOf(window, unit, zone)
      expect(buckets.map(bucket => bucket.from)).toEqual(bucketStarts(window, unit, zone))
      expect(buckets.map(bucket => bucket.to)).toEqual([...buckets.slice(1).map(bucket => bucket.from), window.to])
    }),
    { numRuns: 500, seed: 5 },
  )
})

test('a bucket is cut where the window begins or ends inside of it: a larger window has it whole', () => {
  fc.assert(
    fc.property(picked, ({ from, size, unit, zone }) => {
      const window = { from, to: from + size }
      const margin = { hour: 2 * HOUR, day: 2 * DAY, week: 8 * DAY, month: 32 * DAY }[unit]
      // Without a zone buckets step from the beginning.
      const larger = bucketsOf({ from: zone === null ? from : from - margin, to: window.to + margin }, unit, zone)
      const whole = new Set(larger.slice(zone === null ? 0 : 1, -1).map(bucket => `${bucket.from} ${bucket.to}`))
      for (const bucket of bucketsOf(window, unit, zone))
        expect([bucket, !whole.has(`${bucket.from} ${bucket.to}`)]).toEqual([bucket, bucket.isCut])
    }),
    { numRuns: 500, seed: 6 },
  )
})

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
})
afterAll(() => api.stop())

type Point = { start_time: number; end_time: number; value: number; partial: boolean }
type Chart = { code: string; from: number; to: number; series: { data: Point[]; dataPrev: Point[] }[]; summarySeries?: { data: Point[] } }
const CODES = CHARTS.map(({ code }) => code)

async function charts(query: string): Promise<Chart[]> {
  const parts = [CODES.slice(0, 12), CODES.slice(12, 24)]
  const answers = await Promise.all(
    parts.map(codes => api.call('GET', `/v4/analytics/charts?${codes.map(code => `codes[]=${code}`).join('&')}&previous=true&${query}`)),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  return answers.flatMap(({ body }) => body.data)
}

test('in every chart, unit and zone the window before has as many points, each earlier by the length of the window', {
  timeout: 120_000,
}, async () => {
  expect(CODES.length).toBeLessThanOrEqual(24)
  const from = seconds('2026-03-27T05:30Z')
  const size = { hour: 3 * DAY + 17, day: 9 * DAY + HOUR, week: 40 * DAY, month: 240 * DAY - 7 }
  for (const unit of UNITS)
    for (const zone of [null, 'Europe/Berlin', 'Australia/Lord_Howe']) {
      const query = `from=${from}&to=${from + size[unit]}&unit=${unit}${zone ? `&timezone=${zone}` : ''}`
      for (const { code, series } of await charts(query))
        for (const { data, dataPrev } of series) {
          expect(data.length, `${code} ${query}`).toBeGreaterThan(1)
          const shifted = data.map(point => [point.start_time - size[unit], point.end_time - size[unit]])
          expect(
            dataPrev.map(point => [point.start_time, point.end_time]),
            `${code} ${query}`,
          ).toEqual(shifted)
          expect(dataPrev.at(-1)!.end_time).toBe(from - (from + size[unit] - data.at(-1)!.end_time))
        }
    }
})

test('a bucket that is not over is partial, its counterpart in the window before is not; those after now are not shown', async () => {
  const now = Math.floor(Date.now() / 1000)
  const from = DateTime.fromSeconds(now, { zone: 'Europe/Berlin' }).startOf('day').minus({ days: 3 }).toSeconds()
  for (const { code, to, series } of await charts(`from=${from}&to=${now + 3 * DAY}&timezone=Europe/Berlin`))
    for (const { data, dataPrev } of series) {
      expect([code, data.map(point => point.partial), dataPrev.map(point => point.partial)]).toEqual([
        code,
        [false, false, false, true],
        [false, false, false, false],
      ])
      expect(data.at(-1)!.end_time).toBeGreaterThan(now)
      expect(data.at(-1)!.end_time).toBeLessThan(to)
    }
})

test('what the window cuts is partial at both ends, and so is its counterpart', async () => {
  const from = seconds('2026-10-24T10:00Z')
  const flags = async (query: string) => {
    const [{ series }] = (await charts(query)) as [Chart]
    return [series[0]!.data, series[0]!.dataPrev].map(points => points.map(point => point.partial))
  }
  const cut = [true, false, true]
  expect(await flags(`from=${from}&to=${seconds('2026-10-26T10:00Z')}&timezone=Europe/Berlin`)).toEqual([cut, cut])
  const whole = `from=${seconds('2026-10-24T22:00Z')}&to=${seconds('2026-10-26T23:00Z')}&timezone=Europe/Berlin`
  expect(await flags(whole)).toEqual([
    [false, false],
    [false, false],
  ])
  // Without a zone buckets step from the beginning: only the last one can be cut.
  expect(await flags(`from=${from}&to=${from + 2 * DAY + 1}`)).toEqual([
    [false, false, true],
    [false, false, true],
  ])
  expect(await flags(`from=${from}&to=${from + 2 * DAY}`)).toEqual([
    [false, false],
    [false, false],
  ])
})

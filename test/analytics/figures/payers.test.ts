import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bucketStarts, type TimeWindow } from '../../../domain/analytics/figures/buckets.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'
import { SEED } from './draws.ts'

const HOUR = 3_600
const PRICE = 1_000_000
/** Six days in New York, of which the first of November 2026 has 25 hours, and six before them. */
const WINDOW = { from: Date.UTC(2026, 9, 29, 4) / 1000, to: Date.UTC(2026, 10, 4, 5) / 1000 }
const BEFORE = { from: 2 * WINDOW.from - WINDOW.to, to: WINDOW.from }
const QUESTIONS = [
  { unit: 'day', zone: null },
  { unit: 'day', zone: 'America/New_York' },
  { unit: 'hour', zone: null },
  { unit: 'week', zone: 'Asia/Kolkata' },
] as const

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
})
afterAll(() => api.stop())

/** Many at the edges of buckets, and soon after one another. */
const times = fc
  .array(
    fc.oneof(
      fc.constantFrom(...QUESTIONS.slice(0, 2).flatMap(({ unit, zone }) => bucketStarts({ ...WINDOW, from: BEFORE.from }, unit, zone))),
      fc.integer({ min: BEFORE.from, max: WINDOW.to - 1 }),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .chain(starts =>
    fc
      .array(fc.constantFrom(-1, 0, 1, HOUR, 24 * HOUR - 1, 24 * HOUR, 25 * HOUR - 1), { minLength: 1, maxLength: 2 })
      .map(more => starts.flatMap(at => [at, ...more.map(later => at + later)])),
  )

type Payment = { user: string; at: number }
const lies =
  ({ from, to }: TimeWindow) =>
  ({ at }: Payment) =>
    at >= from && at < to
const perPayer = (payments: Payment[]): number =>
  payments.length === 0 ? 0 : Number(((PRICE * payments.length) / new Set(payments.map(({ user }) => user)).size).toFixed(2))

test('a user who pays again in a bucket or window counts once in it, wherever the payments lie, on both drivers', async () => {
  const { secret: key } = await api.newProject()
  const payments = fc
    .sample(times, { numRuns: 150, seed: SEED })
    .flatMap((own, user): Payment[] => [...new Set(own)].map(at => ({ user: `user-${user}`, at })))
  const events = payments.map(({ user, at }, n) => ({
    ...{ event_id: `sale-${n}`, event_name: 'in_app_purchase', identity_id: user, platform: 'iOS', product_id: 'coins' },
    ...{
      price: String(PRICE),
      currency: 'USD',
      happened_at: new Date(at * 1000).toISOString(),
      transaction: { transaction_id: `sale-${n}` },
    },
  }))
  for (let n = 0; n < events.length; n += 1_000) {
    const { status, text } = await api.call('POST', '/v4/events', { key, body: { events: events.slice(n, n + 1_000) } })
    expect(status, text.slice(0, 300)).toBe(200)
  }
  for (const { unit, zone } of QUESTIONS) {
    const starts = bucketStarts(WINDOW, unit, zone)
    const dataOf = (earlier: number) =>
      starts.map((start, i) => {
        const [from, to] = [start - earlier, (starts[i + 1] ?? WINDOW.to) - earlier]
        return { start_time: from, value: perPayer(payments.filter(lies({ from, to }))) }
      })
    const [total, totalPrev] = [WINDOW, BEFORE].map(window => perPayer(payments.filter(lies(window))))
    for (const previous of [false, true]) {
      const path = `/v4/analytics/charts/arppu?from=${WINDOW.from}&to=${WINDOW.to}&unit=${unit}${zone ? `&timezone=${zone}` : ''}&previous=${previous}`
      for (const { call } of callsOf(api)) {
        const { body } = await call('GET', path, { key })
        expect(body.series[0], path).toMatchObject({ total, totalPrev, data: dataOf(0) })
        if (previous) expect(body.series[0].dataPrev, path).toMatchObject(dataOf(WINDOW.to - WINDOW.from))
        else expect(body.series[0].dataPrev, path).toBeUndefined()
      }
    }
  }
  expectAnswersByReplicas(api)
})

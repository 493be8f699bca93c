import { afterAll, beforeAll, expect, test } from 'vitest'
import { segmentationsOf } from '../../../domain/analytics/figures/attributes.ts'
import { CHARTS, chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { importRates } from '../../../domain/purchases/rates/import.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf } from './answer-difference.ts'

const DAY = 86_400
const NOW = Math.floor(Date.now() / 1000)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
/** The largest amount that a fact can have: 12 digits and 6 decimals. */
const MOST = '999999999999.999999'
const MOST_MILLIONTHS = 10n ** 18n - 1n

const SALES = 40
/** The largest and the smallest rate, and one by which an amount has room in 128 bits, and the sum of 40 has not. */
const USD_PER = { KWD: '1000000', IRR: '0.000000001', BHD: '10000' }
/** Currencies of amounts and of answers, and what one unit of the first is in 10^-15 of the second. */
const EXCHANGES = [
  ['USD', 'USD', 10n ** 15n],
  ['BHD', 'USD', 10n ** 19n],
  ['KWD', 'IRR', 10n ** 30n],
  ['IRR', 'KWD', 1n],
] as const

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
  const lines = async function* () {
    for (const [i, [currency, usd]] of Object.entries(USD_PER).entries())
      yield { line: i + 1, rate: { currency, usd, date: '2020-01-01', per: '1' } }
  }
  expect(await importRates(api.pool, lines)).toMatchObject({ is: 'imported' })
})
afterAll(() => api.stop())

/** Sales and subscriptions of a few users, in a project of its own. */
async function sellAll(currency: string): Promise<string> {
  const { secret: key } = await api.newProject()
  const of = (n: number, event_name: string, more: object) => ({
    ...{ event_id: `${event_name}-${n}`, event_name, identity_id: `user-${n % 3}`, platform: 'Stripe', product_id: event_name },
    ...{ happened_at: iso(NOW - 10 * DAY - n), price: MOST, currency, ...more },
  })
  const events = Array.from({ length: SALES }, (_, n) => [
    of(n, 'in_app_purchase', { transaction: { transaction_id: `sale-${n}` } }),
    of(n, 'subscription_started', {
      transaction: { transaction_id: `sub-${n}`, original_transaction_id: `sub-${n}`, expires_at: iso(NOW - 3 * DAY + (n % 2) * 30 * DAY) },
    }),
  ]).flat()
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body).toMatchObject({ created: events.length })
  return key
}

/** Millionths × factor as an amount with two decimals, half away from zero. */
function money(millionths: bigint, factor: bigint): number {
  const units = 10n ** 19n
  const cents = String((2n * millionths * factor + units) / (2n * units)).padStart(3, '0')
  return Number(`${cents.slice(0, -2)}.${cents.slice(-2)}`)
}

const WINDOW = `from=${NOW - 20 * DAY}&to=${NOW}`

test.each(
  EXCHANGES,
)('the largest amounts, in %s, are added up in %s without loss, by both drivers alike', async (currency, target, factor) => {
  const key = await sellAll(currency)
  const charts = CHARTS.filter(({ measure }) => measure === 'usd').flatMap(({ code }) => [
    `charts/${code}?${WINDOW}`,
    ...(segmentationsOf(chartOf(code)!).some(({ code }) => code === 'product_id')
      ? [`charts/${code}?${WINDOW}&segmentation=product_id&max_series=1`]
      : []),
  ])
  for (const path of [...charts, 'cohorts?mode=by_days', 'cohorts?revenue_type=net', 'ltv?', 'ltv?revenue_type=net&segment=product_id']) {
    const [onPostgres, onReplica] = await Promise.all(
      callsOf(api).map(async ({ call }) => {
        const { status, body } = await call('GET', `/v4/analytics/${path}&currency=${target}`, { key })
        return { path, status, body: { ...body, as_of: null } }
      }),
    )
    expect(onPostgres!.status).toBe(200)
    expect(onReplica).toEqual(onPostgres)
  }
  const { body } = await api.replica!.call('GET', `/v4/analytics/charts/sales?${WINDOW}&currency=${target}`, { key })
  const sold = 2n * BigInt(SALES) * MOST_MILLIONTHS
  expect(sold).toBeGreaterThan(2n ** 63n)
  expect(body.series[0].total).toBe(money(sold, factor))
  const cohorts = await api.replica!.call('GET', `/v4/analytics/cohorts?mode=by_days&currency=${target}`, { key })
  expect(cohorts.body.total.periods[0].revenue).toBe(money(sold, factor))
})

test('the replica answered all that 128 bits have room for, and no user was set aside', async () => {
  const { answers, errors } = api.replica!
  expect([errors, [...answers.keys()].sort()]).toEqual([[], ['overflow', 'replica']])
  expect((await api.pool.query('select * from set_aside_users')).rows).toEqual([])
})

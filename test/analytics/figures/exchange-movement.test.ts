import { afterAll, beforeAll, expect, test } from 'vitest'
import { CHANGE_CAUSE } from '../../../domain/analytics/facts/rows.ts'
import { importRates } from '../../../domain/purchases/rates/import.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'

const DAY = 86_400
const WEEK = 7 * DAY
const NOW = Math.floor(Date.now() / 1000)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
/** Four periods; the last one goes on. */
const BEGUN = NOW - 3 * WEEK - DAY
const dateOf = (week: number) => iso(BEGUN + week * WEEK).slice(0, 10)
const USD_PER_EURO = ['1', '1.2', '1.1', '1.1']

const CHF_OF_A_RENEWAL = { currency: 'CHF', transactions: 1, amount: 10 }

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
  const lines = async function* () {
    for (const [week, usd] of USD_PER_EURO.entries()) yield { line: week + 1, rate: { currency: 'EUR', usd, date: dateOf(week), per: '1' } }
  }
  expect(await importRates(api.pool, lines)).toMatchObject({ is: 'imported' })
})
afterAll(() => api.stop())

const period = (user: string, week: number, price: string, currency = 'EUR') => ({
  ...{ event_id: `${user}-${week}`, event_name: week === 0 ? 'subscription_started' : 'subscription_renewed', identity_id: user },
  ...{ platform: 'Stripe', product_id: 'weekly', price, currency, happened_at: iso(BEGUN + week * WEEK) },
  transaction: {
    transaction_id: `${user}-${week}`,
    original_transaction_id: `${user}-0`,
    expires_at: iso(BEGUN + (week + 1) * WEEK),
  },
})

test('a renewal at the same price moves MRR by the rates of its two days, a higher price by both, on both drivers', async () => {
  const { secret: key } = await api.newProject()
  const events = [
    ...USD_PER_EURO.flatMap((_, week) => [period('ann', week, '10'), period('ben', week, '10')]),
    ...USD_PER_EURO.map((_, week) => period('cid', week, week < 3 ? '20' : '30')),
  ]
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body).toMatchObject({ created: events.length })
  const path = `/v4/analytics/charts/mrr-movement?from=${BEGUN}&to=${BEGUN + 4 * WEEK}&unit=week`
  // 40 euros a week, of which 1461 ÷ 336 make a month; in the last week ten more at 1.1.
  const expected = {
    New: [173.93, 0, 0, 0],
    Expansion: [0, 34.79, 0, 47.83],
    Contraction: [0, 0, -17.39, 0],
    Churn: [0, 0, 0, 0],
  }
  for (const { call } of callsOf(api)) {
    const { status, body } = await call('GET', path, { key })
    expect(status).toBe(200)
    const shown = body.series.map(({ label, data }: { label: string; data: { value: number }[] }) => [
      label,
      data.map(({ value }) => value),
    ])
    expect(Object.fromEntries(shown)).toMatchObject(expected)
  }
  expectAnswersByReplicas(api)
})

test('a window in which nothing but renewals happen says which of their currencies have no rate, on both drivers', async () => {
  const { secret: key } = await api.newProject()
  const events = USD_PER_EURO.map((_, week) => period('dan', week, '10', 'CHF'))
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body).toMatchObject({ created: events.length })
  const path = `/v4/analytics/charts/mrr-movement?from=${BEGUN + DAY}&to=${BEGUN + 4 * WEEK}&unit=week`
  for (const currency of ['USD', 'EUR'])
    for (const { call } of callsOf(api)) {
      const { body } = await call('GET', `${path}&currency=${currency}`, { key })
      expect(body.summarySeries.total).toBe(0)
      expect(body.unconverted).toEqual([{ currency: 'CHF', transactions: 1, amount: 30 }])
    }
  expectAnswersByReplicas(api)
})

test('what is posted late of a period that is over changes nothing, and leaves nothing unconverted, on both drivers', async () => {
  const { secret: key } = await api.newProject()
  const product = { id: 'weekly', type: 'subscription', duration: 'P1W', google_product_id: 'weekly' }
  expect((await api.call('POST', '/v4/products', { key, body: product })).status).toBe(201)
  const { body: user } = await api.call('POST', '/v4/users', { key, body: { environment: 'prod' } })
  const path = `/v4/users/${user.id}/purchases`
  const periodOf = (week: number) => ({
    ...{ currency: 'CHF', price: '10', purchased_at: iso(BEGUN + week * WEEK), expires_at: iso(BEGUN + (week + 1) * WEEK) },
    play_store_data: { purchase_token: 'eve', order_id: `eve-${week}`, product_id: 'weekly' },
  })
  const first = await api.call('POST', path, { key, body: periodOf(0) })
  expect((await api.call('PATCH', first.body.url, { key, body: { is_auto_renewing: false } })).status).toBe(200)
  for (const week of [1, 2, 3]) expect((await api.call('POST', path, { key, body: periodOf(week) })).status).toBe(201)
  const unconvertedSince = async (from: number, more: string) => {
    const path = `/v4/analytics/charts/mrr-movement?from=${from}&to=${NOW + DAY}${more}`
    const answers = await Promise.all(callsOf(api).map(({ call }) => call('GET', path, { key })))
    return answers.map(({ body }) => body.unconverted)
  }
  for (const more of ['', '&segmentation=country', '&segmentation=country&max_series=0']) {
    expect(await unconvertedSince(NOW - DAY / 2, more)).toEqual([undefined, undefined])
    expect(await unconvertedSince(NOW - 2 * DAY, more)).toEqual([[CHF_OF_A_RENEWAL], [CHF_OF_A_RENEWAL]])
  }
  const { rows } = await api.pool.query('select from subscription_changes where happened >= $1 and cause = $2', [
    NOW,
    CHANGE_CAUSE.auto_renew,
  ])
  expect(rows).toHaveLength(1)
  expectAnswersByReplicas(api)
})

const MONTH = 365.25 / 12

test.each([
  ['P1D', DAY, MONTH],
  ['P2W', 2 * WEEK, MONTH / 14],
  ['P28D', 4 * WEEK, MONTH / 28],
  ['P2Y', 730 * DAY, 1 / 24],
])('a period of %s counts for a month by its length, with and without a product that says so, on both drivers', async (duration, length, factor) => {
  const { secret: key } = await api.newProject()
  const product = { id: 'own', type: 'subscription', duration, google_product_id: 'linked' }
  expect((await api.call('POST', '/v4/products', { key, body: product })).status).toBe(201)
  // The second of three 28 days is a February, and all the same no month.
  const begun = Date.parse('2026-01-10T00:00:00Z') / 1000
  const event = (id: string, product_id: string, n: number) => ({
    ...{
      event_id: `${id}-${n}`,
      event_name: n === 0 ? 'subscription_started' : 'subscription_renewed',
      identity_id: id,
      platform: 'Android',
      product_id,
    },
    ...{ happened_at: iso(begun + n * length), price: '1000', currency: 'USD' },
    transaction: { transaction_id: `${id}-${n}`, original_transaction_id: id, expires_at: iso(begun + (n + 1) * length) },
  })
  const events = [0, 1, 2].filter(n => begun + n * length < NOW).flatMap(n => [event('a', 'linked', n), event('b', 'unlinked', n)])
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body).toMatchObject({ created: events.length })
  const at = begun + Math.min(2 * length, DAY) + 60
  for (const { call } of callsOf(api)) {
    const { body } = await call('GET', `/v4/analytics/charts/mrr?from=${begun}&to=${at}&segmentation=product_id`, { key })
    const own = Math.round(factor * 100_000) / 100
    expect(body.series.map((one: { label: string; total: number }) => one.total)).toEqual([own, own])
  }
  expectAnswersByReplicas(api)
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

const DAY = 86_400
const NOW = Math.floor(Date.now() / 1000)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const chart = (code: string, query = '') => api.call('GET', `/v4/analytics/charts/${code}?${query}`)
const WINDOW = `from=${NOW - 40 * DAY}&to=${NOW + DAY}`
const total = async (code: string, query = WINDOW) => (await chart(code, query)).body.series[0].total as number

describe('refused with the field', () => {
  test.each([
    ['to', 'mrr', `from=${NOW}&to=${NOW}`],
    ['to', 'mrr', `from=${NOW}&to=${NOW - 1}`],
    ['unit', 'mrr', `from=${NOW - 2001 * 3600}&to=${NOW}&unit=hour`],
    ['timezone', 'mrr', 'timezone=Europe/Atlantis'],
    ['currency', 'mrr', 'currency=CHF'],
    ['environment', 'mrr', 'environment=0'],
    ['rate_date', 'mrr', 'rate_date=2026-02-30'],
    ['segmentation', 'mrr', 'segmentation=device_id'],
    ['segmentation', 'subscriptions-overview', 'segmentation=country'],
    ['filter[product_id][]', 'users-overview', 'filter[product_id][]=coins'],
    ['filter[shoe_size][]', 'mrr', 'filter[shoe_size][]=42'],
  ])('%s of %s?%s', async (field, code, query) => {
    const { status, body } = await chart(code, query)
    expect(status).toBe(400)
    expect(body.error.code).toMatch(/^invalid_/)
    expect(JSON.stringify(body.error)).toContain(JSON.stringify(field).slice(1, -1))
  })

  test('a chart that does not exist', async () => {
    expect((await chart('happiness')).status).toBe(404)
    expect((await chart('toString')).status).toBe(404)
  })
})

test('2,000 buckets are answered, a window that lies ahead has none, and nobody has a value that does not occur', async () => {
  const long = await chart('sales', `from=${NOW - 2000 * 3600}&to=${NOW}&unit=hour`)
  expect(long.body.series[0].data).toHaveLength(2000)
  const ahead = await chart('mrr', `from=${NOW + 10 * DAY}&to=${NOW + 20 * DAY}`)
  expect(ahead.body.series).toMatchObject([{ total: 0, totalPrev: 0, data: [] }])
  expect(ahead.body.incomplete_from).toBeNull()
  expect(await total('users-overview', `${WINDOW}&filter[country][]=Nowhere`)).toBe(0)
})

test('what is recorded counts in the next answer; a refund changes the day that it names; an erased user leaves nothing behind', async () => {
  await product(api, { id: 'coins', type: 'consumable', duration: null, google_product_id: 'coins' })
  const user = await userOf(api)
  const bought = NOW - 30 * DAY
  const recorded = await purchaseOf(api, user, {
    ...{ currency: 'USD', price: '9.99', purchased_at: iso(bought), country: 'DE' },
    play_store_data: { purchase_token: 't1', order_id: 'o1', product_id: 'coins' },
  })
  expect(recorded.status).toBe(201)
  expect(await total('sales')).toBe(9.99)
  expect(await total('proceeds')).toBe(6.99)
  await api.call('PATCH', recorded.body.url, { body: { refunded_at: iso(bought + DAY), refunded_amount: '4' } })
  const { series } = (await chart('sales', `from=${bought}&to=${NOW}&segmentation=country`)).body
  expect(series).toMatchObject([{ label: 'DE', total: 5.99 }])
  expect(await total('sales')).toBe(5.99)
  expect(await total('sales', `from=${bought}&to=${bought + DAY}`)).toBe(9.99)
  expect(await total('refunds', `from=${bought + DAY}&to=${bought + 2 * DAY}`)).toBe(4)
  expect((await api.call('DELETE', `/v4/customers/${user}`)).status).toBeLessThan(300)
  expect(await total('sales')).toBe(0)
  expect(await total('users-overview')).toBe(0)
})

test('the series of segmented sales add up to the sales after refunds of the whole, and so do the facts behind their total', async () => {
  const { secret: key } = await api.newProject()
  const sale = (user: string, country: string, price: string) => ({
    ...{ event_id: user, event_name: 'in_app_purchase', identity_id: user, happened_at: iso(NOW - 30 * DAY), price, currency: 'USD' },
    ...{ platform: 'iOS', product_id: 'coins', transaction: { transaction_id: user }, device: { country } },
  })
  const back = (user: string, country: string, price: string) => ({
    ...sale(user, country, price),
    ...{ event_id: `${user}-back`, event_name: 'in_app_refunded', happened_at: iso(NOW - 20 * DAY) },
  })
  const events = [sale('ann', 'DE', '10'), sale('bo', 'FR', '7'), sale('cy', 'US', '5'), back('ann', 'DE', '4'), back('cy', 'US', '5')]
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body.created).toBe(5)
  const sales = async (more: string, below = '') =>
    (await api.call('GET', `/v4/analytics/charts/sales${below}?${WINDOW}${more}`, { key })).body
  const totals = ({ series }: { series: { label: string; total: number }[] }) => series.map(({ label, total }) => [label, total])
  expect(totals(await sales(''))).toEqual([
    ['Sales after refunds', 13],
    ['Refunds', 9],
  ])
  const segmented = await sales('&segmentation=country')
  expect([totals(segmented), segmented.summarySeries.total]).toEqual([
    [
      ['FR', 7],
      ['DE', 6],
      ['US', 0],
    ],
    13,
  ])
  expect(totals(await sales('&segmentation=country&max_series=1'))).toEqual([
    ['FR', 7],
    ['Other', 6],
  ])
  expect(await sales('&segmentation=country&max_series=0')).toMatchObject({ series: [], summarySeries: { total: 13 } })
  expect((await sales('&segmentation=country', '/explain')).value).toBe(13)
  expect((await sales('&segmentation=country&segment=DE', '/explain')).value).toBe(6)
})

test('what cannot be converted is listed with the series of values, too, where only its refund lies in the window', async () => {
  const { secret: key } = await api.newProject()
  const sale = {
    identity_id: 'ida',
    product_id: 'coins',
    platform: 'iOS',
    currency: 'CHF',
    price: '3',
    transaction: { transaction_id: 'i' },
  }
  const events = [
    { ...sale, event_id: 'sale', event_name: 'in_app_purchase', happened_at: iso(NOW - 30 * DAY) },
    { ...sale, event_id: 'back', event_name: 'in_app_refunded', happened_at: iso(NOW - 10 * DAY) },
  ]
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body.created).toBe(2)
  for (const segmentation of ['', '&segmentation=country']) {
    const { body } = await api.call('GET', `/v4/analytics/charts/sales?from=${NOW - 20 * DAY}&to=${NOW}${segmentation}`, { key })
    expect(body.unconverted).toEqual([{ currency: 'CHF', transactions: 0, amount: 0, refunds: 1, refunded_amount: 3 }])
    const whole = await api.call('GET', `/v4/analytics/charts/sales?from=${NOW - 40 * DAY}&to=${NOW}${segmentation}`, { key })
    expect(whole.body.unconverted).toEqual([{ currency: 'CHF', transactions: 1, amount: 3, refunds: 1, refunded_amount: 3 }])
  }
})

test('a trial whose charge failed until the store gave up is not cancelled, unless auto-renew had been switched off', async () => {
  const { secret: key } = await api.newProject()
  const eventBody = (user: string, event_name: string, at: number, more = {}) => ({
    ...{ event_id: `${user}-${event_name}`, event_name, identity_id: user, platform: 'iOS', product_id: 'monthly', happened_at: iso(at) },
    transaction: { original_transaction_id: user, ...more },
  })
  const trial = (user: string) => [
    eventBody(user, 'trial_started', NOW - 20 * DAY, { transaction_id: user, expires_at: iso(NOW - 13 * DAY) }),
    eventBody(user, 'trial_billing_retry_entered', NOW - 13 * DAY, { grace_period_expires_at: iso(NOW - 10 * DAY) }),
    eventBody(user, 'trial_expired', NOW - 12 * DAY),
  ]
  const events = [...trial('kim'), ...trial('lou'), eventBody('lou', 'trial_canceled', NOW - 15 * DAY)]
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body.created).toBe(7)
  const { body } = await api.call('GET', `/v4/analytics/charts/trial-cancellation?${WINDOW}`, { key })
  expect(body.series).toMatchObject([{ total: 50, totalWeight: 2 }])
})

test('the name that was asked for is repeated, and as_of and incomplete_from say how far the answer holds', async () => {
  const { body } = await chart('user-to-trial-conversion', WINDOW)
  expect(body).toMatchObject({ code: 'user-to-trial-conversion', measure: 'percent', totalType: 'average', seriesRelation: 'independent' })
  expect(body.as_of).toBeGreaterThanOrEqual(NOW)
  const starts = body.series[0].data.map((point: { start_time: number }) => point.start_time)
  expect(body.incomplete_from).toBe(starts.at(-1))
})

test('fresh=true counts everything that was recorded, also behind more changes than an answer waits for otherwise', async () => {
  const { secret: key } = await api.newProject()
  const events = Array.from({ length: 500 }, (_, n) => ({
    ...{ event_id: `sale-${n}`, event_name: 'in_app_purchase', identity_id: `buyer-${n}`, platform: 'iOS', product_id: 'coins' },
    ...{ happened_at: iso(NOW - DAY), price: '1', currency: 'USD', transaction: { transaction_id: `sale-${n}` } },
  }))
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body).toMatchObject({ created: 500 })
  const counted = async (more: string) =>
    (await api.call('GET', `/v4/analytics/charts/sales?${WINDOW}${more}`, { key })).body.series[0].total
  expect(await counted('')).toBeLessThan(500)
  expect(await counted('&fresh=true')).toBe(500)
})

test('a cancellation counts at its own time, also when it was taken back since', async () => {
  const { secret: key } = await api.newProject()
  const event = (event_name: string, daysAgo: number, more: object = {}) => ({
    ...{ event_id: `${event_name}-${daysAgo}`, event_name, identity_id: 'ann', platform: 'iOS', product_id: 'monthly' },
    happened_at: new Date((NOW - daysAgo * DAY) * 1000).toISOString(),
    transaction: { transaction_id: 't-1', ...more },
  })
  const expires_at = new Date((NOW + 10 * DAY) * 1000).toISOString()
  const started = { ...event('subscription_started', 20, { expires_at }), price: '10', currency: 'USD' }
  const events = [started, event('subscription_canceled', 15), event('subscription_uncanceled', 12), event('subscription_canceled', 5)]
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body).toMatchObject({ created: 4 })
  const query = `from=${NOW - 20 * DAY}&to=${NOW}&unit=day`
  const { body } = await api.call('GET', `/v4/analytics/charts/subscriptions-overview?${query}`, { key })
  const canceled = body.series.find(({ label }: { label: string }) => label === 'Canceled')
  const days = canceled.data.flatMap(({ value, start_time }: { value: number; start_time: number }) =>
    value === 0 ? [] : [[Math.ceil((NOW - start_time) / DAY), value]],
  )
  expect([canceled.total, days]).toEqual([
    2,
    [
      [15, 1],
      [5, 1],
    ],
  ])
})

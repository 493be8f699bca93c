import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { storeRates } from './post-plan.ts'

const DAY = 86_400
const NOW = Math.floor(Date.now() / 1000)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
/** Two days, twenty days ago. */
const [FROM, TO] = [NOW - 20 * DAY, NOW - 18 * DAY]
const WINDOW = `from=${FROM}&to=${TO}`

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const get = (path: string, key?: string) => api.call('GET', `/v4/analytics/charts/${path}`, key === undefined ? {} : { key })

type Sale = { user: string; price: string; at: number; country?: string; name?: string }
const post = async (key: string, sales: Sale[]) => {
  const events = sales.map(({ user, price, at, country, name = 'in_app_purchase' }, n) => ({
    ...{ event_id: `${user}-${name}-${n}`, event_name: name, identity_id: user, happened_at: iso(at), price, currency: 'USD' },
    ...{ product_id: 'coins', transaction: { transaction_id: `${user}-${n}` }, ...(country && { device: { country } }) },
  }))
  const { status, body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect([status, body.created], JSON.stringify(body)).toEqual([200, sales.length])
}

describe('refused with the field', () => {
  test.each([
    ['start_time', `sales/facts?${WINDOW}&start_time=${FROM + 1}`],
    ['start_time', `sales/explain?${WINDOW}&start_time=${TO}`],
    ['series', `sales/facts?${WINDOW}&series=Profits`],
    ['series', `subscriptions-overview/explain?${WINDOW}`],
    ['segment', `sales/facts?${WINDOW}&segment=DE`],
    ['to', `sales/facts?from=${TO}&to=${FROM}`],
    ['limit', `sales/facts?${WINDOW}&limit=101`],
    ['currency', `sales/explain?${WINDOW}&currency=CHF`],
  ])('%s: %s', async (field, path) => {
    const { status, body } = await get(path)
    expect(status).toBe(400)
    expect(body.error.details.map((detail: { field: string }) => detail.field)).toContain(field)
  })

  test('a chart that does not exist', async () => {
    expect((await get('happiness/facts')).status).toBe(404)
    expect((await get('happiness/explain')).status).toBe(404)
  })
})

describe('sales of a few people', () => {
  let key: string
  beforeAll(async () => {
    key = (await api.newProject()).secret
    const at = (n: number) => FROM + 3_600 * n
    await post(key, [
      { user: 'anna', price: '10', at: at(1), country: 'DE' },
      { user: 'anna', price: '5.25', at: at(30), country: 'DE' },
      { user: 'ben', price: '3', at: at(2), country: 'BR' },
      { user: 'cleo', price: '1', at: at(3), country: 'US' },
    ])
  })

  test('the facts of the window stand in pages, the latest first, each with who, what and how much', async () => {
    const first = await get(`sales/facts?${WINDOW}&limit=3`, key)
    expect(first.body).toMatchObject({ has_more: true, data: [{ contribution: '5.25' }, { contribution: '1' }, { contribution: '3' }] })
    const second = await get(`sales/facts?${WINDOW}&limit=3&starting_after=${first.body.next_cursor}`, key)
    expect(second.body).toMatchObject({ has_more: false, data: [{ contribution: '10' }] })
    expect(second.body.data[0]).toEqual({
      ...{ object: 'analytics_fact', id: expect.any(String), role: 'value', kind: 'one_time', cause: null },
      ...{
        happened_at: iso(FROM + 3_600).replace(/\.\d+/, ''),
        recorded_at: expect.any(String),
        customer_uid: expect.stringMatching(/^QON_/),
      },
      ...{ product_id: 'coins', target_platform: null, country: 'DE', currency: 'USD', amount: 10, contribution: '10' },
      ...{ purchase_id: null, event_id: expect.stringMatching(/^evt_/) },
    })
  })

  test('a bucket, a series, a value and what is left of the values have facts of their own', async () => {
    const contributions = async (parameters: string, code = 'sales') =>
      (await get(`${code}/facts?${WINDOW}&${parameters}`, key)).body.data.map((fact: { contribution: string }) => fact.contribution)
    expect(await contributions(`start_time=${FROM + DAY}`)).toEqual(['5.25'])
    expect(await contributions('series=Refunds')).toEqual([])
    expect(await contributions('segmentation=country&segment=BR')).toEqual(['3'])
    expect(await contributions('segmentation=country&segment=Nowhere')).toEqual([])
    expect(await contributions('segmentation=country&max_series=1&segment=Other')).toEqual(['1', '3'])
    expect(await contributions('segmentation=target_platform&segment=Unknown')).toHaveLength(4)
    expect(await contributions('filter[country][]=DE&filter[country][]=US')).toEqual(['5.25', '1', '10'])
  })

  test('the whole of a segmented chart has the label that the chart shows', async () => {
    const query = `${WINDOW}&segmentation=country`
    const chart = (await get(`proceeds?${query}`, key)).body
    expect(chart.summarySeries.label).toBe('Total')
    expect((await get(`proceeds/explain?${query}&series=Total`, key)).body.value).toBe(chart.summarySeries.total)
    expect((await get(`proceeds/explain?${WINDOW}&series=Total`, key)).status).toBe(400)
  })

  test('every point is the number of its own times, also in the window before', async () => {
    const query = `from=${TO - 3 * DAY}&to=${TO + 3 * DAY}&timezone=Australia/Lord_Howe&previous=true`
    for (const code of ['sales', 'arppu', 'users-overview', 'mrr']) {
      const [{ label, data, dataPrev }] = (await get(`${code}?${query}`, key)).body.series
      for (const { start_time, end_time, value } of [...data, ...dataPrev]) {
        const path = `${code}/explain?from=${start_time}&to=${end_time}&series=${encodeURIComponent(label)}`
        expect([path, (await get(path, key)).body.value]).toEqual([path, value])
      }
    }
  })

  test('of a ratio every user counts once below the line', async () => {
    const { body } = await get(`arppu/explain?${WINDOW}`, key)
    expect(body).toMatchObject({ value: 6.42, numerator: '19.25', denominator: '3' })
    const { data } = (await get(`arppu/facts?${WINDOW}`, key)).body
    expect(data.filter((fact: { role: string }) => fact.role === 'denominator')).toHaveLength(3)
  })

  test('a cursor that is none gives the first page and says so', async () => {
    const { headers, body } = await get(`sales/facts?${WINDOW}&limit=1&starting_after=nonsense`, key)
    expect(headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(body.data).toMatchObject([{ contribution: '5.25' }])
  })

  test('an explanation names no person but in its late facts, and an erased user has none', async () => {
    const project = await api.newProject()
    await post(project.secret, [{ user: 'dora', price: '2', at: FROM + 60 }])
    const [fact] = (await get(`sales/facts?${WINDOW}`, project.secret)).body.data
    const of = async () => (await get(`sales/explain?${WINDOW}`, project.secret)).body
    expect((await of()).late_facts).toMatchObject([{ customer_uid: fact.customer_uid }])
    expect((await api.call('DELETE', `/v4/customers/${fact.customer_uid}`, { key: project.secret })).status).toBeLessThan(300)
    expect((await get(`sales/facts?${WINDOW}`, project.secret)).body.data).toEqual([])
    expect(JSON.stringify(await of())).not.toContain(fact.customer_uid)
  })
})

test('a refund that is posted late changes its day, and the explanation names the fact', async () => {
  const { secret } = await api.newProject()
  await post(secret, [{ user: 'emil', price: '20', at: FROM + 60 }])
  const before = await get(`sales/explain?${WINDOW}&series=${encodeURIComponent('Sales after refunds')}`, secret)
  expect(before.body).toMatchObject({ value: 20, facts: [{ kind: 'one_time', facts: 1 }] })
  await post(secret, [{ user: 'emil', name: 'in_app_refunded', price: '20', at: FROM + DAY + 60 }])
  const { body } = await get(`sales/explain?${WINDOW}&series=${encodeURIComponent('Sales after refunds')}`, secret)
  expect(body.value).toBe(0)
  const today = iso(NOW).slice(0, 10)
  expect(body.changed_since.map(({ day }: { day: string }) => day >= today)).toEqual([true])
  const refund = body.late_facts.find((fact: { kind: string }) => fact.kind === 'refund')
  expect(refund).toMatchObject({ contribution: '-20', event_id: expect.stringMatching(/^evt_/), customer_uid: expect.any(String) })
  const { rows } = await api.pool.query(body.sql)
  expect(Number(rows[0].value)).toBe(0)
})

test('a window that has not begun has no state, by its statement as well', async () => {
  const { secret } = await api.newProject()
  const events = [
    {
      ...{
        event_id: 'trial',
        event_name: 'trial_started',
        identity_id: 'fay',
        happened_at: iso(NOW - DAY),
        product_id: 'monthly',
        platform: 'iOS',
      },
      transaction: { transaction_id: 't', original_transaction_id: 't', transaction_date: iso(NOW - DAY), expires_at: iso(NOW + 5 * DAY) },
    },
  ]
  expect((await api.call('POST', '/v4/events', { key: secret, body: { events } })).body.created).toBe(1)
  const explained = async (from: number, to: number) => {
    const { body } = await get(`active-trials/explain?from=${from}&to=${to}&series=${encodeURIComponent('Auto-renew on')}`, secret)
    return [body.value, Number((await api.pool.query(body.sql)).rows[0].value)]
  }
  expect(await explained(NOW - 7 * DAY, NOW + DAY)).toEqual([1, 1])
  expect(await explained(NOW + DAY, NOW + 30 * DAY)).toEqual([0, 0])
})

test('the parts of stated proceeds that go back with several refunds add up to all of them', async () => {
  const { secret } = await api.newProject()
  const sale = { identity_id: 'gil', product_id: 'coins', platform: 'Paddle', currency: 'USD', transaction: { transaction_id: 'g' } }
  const refund = { ...sale, event_name: 'in_app_refunded', price: '5' }
  const events = [
    { ...sale, event_id: 'sale', event_name: 'in_app_purchase', price: '10', proceeds: '7.000005', happened_at: iso(FROM + 60) },
    { ...refund, event_id: 'first-half', happened_at: iso(FROM + 120) },
    { ...refund, event_id: 'second-half', happened_at: iso(FROM + 180) },
  ]
  expect((await api.call('POST', '/v4/events', { key: secret, body: { events } })).body.created).toBe(3)
  const { data } = (await get(`proceeds/facts?${WINDOW}`, secret)).body
  expect(data.map((fact: { contribution: string }) => fact.contribution)).toEqual(['-3.500002', '-3.500003', '7.000005'])
})

test('texts of a question are quoted in the statement', async () => {
  const value = `O'Brien\\'; drop table users; --`
  const { body } = await get(
    `sales/explain?${WINDOW}&filter[country][]=${encodeURIComponent(value)}&filter[device_id][]=${encodeURIComponent(value)}`,
  )
  const { rows } = await api.pool.query(body.sql)
  expect(rows).toEqual([{ value: expect.anything() }])
  expect(Number(rows[0].value)).toBe(0)
})

test('the rate of a number has the day of the rate, not that of the purchase', async () => {
  const { secret } = await api.newProject()
  const dayOf = (at: number) => iso(at).slice(0, 10)
  const [early, late] = [dayOf(FROM - 10 * DAY), dayOf(FROM - 3 * DAY)]
  await storeRates(api, [
    { currency: 'SEK', date: early, usdPerUnit: '0.2' },
    { currency: 'SEK', date: late, usdPerUnit: '0.1' },
    { currency: 'NOK', date: dayOf(NOW), usdPerUnit: '0.5' },
  ])
  const sale = (currency: string) => ({
    ...{ event_id: currency, event_name: 'in_app_purchase', identity_id: currency, happened_at: iso(FROM + 3_600), price: '10', currency },
    ...{ product_id: 'coins', transaction: { transaction_id: currency } },
  })
  const posted = await api.call('POST', '/v4/events', { key: secret, body: { events: ['SEK', 'NOK', 'USD'].map(sale) } })
  expect(posted.body).toMatchObject({ created: 3 })
  const ratesIn = async (currency: string) => {
    const { body } = await get(`sales/explain?${WINDOW}&series=${encodeURIComponent('Sales after refunds')}&currency=${currency}`, secret)
    return Object.fromEntries(
      body.currencies.map(({ currency, first_rate }: { currency: string; first_rate: { date: string } }) => [currency, first_rate.date]),
    )
  }
  // Before the first rate of a currency that one counts; what needs no rate has the day of the purchase.
  expect(await ratesIn('USD')).toEqual({ SEK: late, NOK: dayOf(NOW), USD: dayOf(FROM + 3_600) })
  expect(await ratesIn('SEK')).toMatchObject({ SEK: dayOf(FROM + 3_600), USD: late })
})

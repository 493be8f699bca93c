import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { storeRates } from './post-plan.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1000)
const iso = (at: number) => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await storeRates(api, [{ currency: 'EUR', date: '2025-01-01', usdPerUnit: '1.1' }])
})
afterAll(() => api.stop())

const PATHS = ['/v4/analytics/cohorts', '/v4/analytics/ltv', '/v4/analytics/ltv/trial-conversion']

describe.each(PATHS)('%s refuses', path => {
  test.each([
    ['cohort_to', `cohort_from=${now}&cohort_to=${now}`],
    ['cohort_to', `cohort_from=${now - DAY}&cohort_to=${now - 2 * DAY}`],
    ['segment', 'segment=app_version'],
    ['segment', 'segment=nothing'],
    ['currency', 'currency=CHF'],
    ['environment', 'environment=0'],
    ['rate_date', 'rate_date=2026-02-30'],
    ['filter[nothing][]', 'filter[nothing][]=a'],
    ['filter[locale][]', 'filter[locale][]=de'],
    ['filter[purchase_currency][]', 'filter[purchase_currency][]=EUR'],
    ['mode', 'mode=by_weeks'],
    ['revenue_type', 'revenue_type=all'],
  ])('%s in %s', async (field, query) => {
    const { status, body } = await api.call('GET', `${path}?${query}`)
    expect([status, body.error.code, body.error.details.map((detail: { field: string }) => detail.field)]).toEqual([
      400,
      'invalid_data',
      [field],
    ])
  })
})

test('at most 400 cohorts', async () => {
  const midnight = now - (now % DAY)
  const fetched = (days: number) =>
    api.call('GET', `/v4/analytics/cohorts?grouping=day&cohort_from=${midnight - days * DAY}&cohort_to=${midnight}`)
  expect((await fetched(400)).status).toBe(200)
  const { status, body } = await fetched(401)
  expect([status, body.error.details[0].field]).toEqual([400, 'grouping'])
})

test('a far future has no more cohorts than are asked', async () => {
  const { status, body } = await api.call('GET', '/v4/analytics/cohorts?grouping=year&cohort_to=253402300799')
  expect([status, body.error.details[0].field]).toEqual([400, 'grouping'])
})

test('nobody: no cohorts, no points, no trials', async () => {
  const { secret: key } = await api.newProject()
  const fetched = async (path: string) => (await api.call('GET', path, { key })).body
  const cohorts = await fetched('/v4/analytics/cohorts?segment=country')
  expect(cohorts).toMatchObject({ cohorts: [], total: null, segments: [], mode: 'by_renewals', grouping: 'week', currency: 'USD' })
  expect(cohorts.max_values).toEqual({ arpas: 0, arppu: 0, arpu: 0, payers: 0, revenue: 0, subscriptions: 0 })
  const ltv = await fetched('/v4/analytics/ltv')
  expect(ltv).toMatchObject({ cohort_users: 0, paying_users: 0, series: [], segments: [], segment: null, mode: 'by_days', measure: 'usd' })
  expect(await fetched('/v4/analytics/ltv/trial-conversion')).toMatchObject({ trials_started: 0, trials_converted: 0, conversion_rate: 0 })
})

test('the end of LTV is never later than a question may ask for', async () => {
  const latest = 253_402_300_799
  const { status, body } = await api.call('GET', `/v4/analytics/ltv?cohort_to=${latest}`)
  expect([status, body.cohort_to]).toEqual([200, latest])
})

test('a range is widened to its units and to midnight, except the beginning of LTV', async () => {
  const [from, to] = [1_772_500_001, 1_773_000_001]
  const range = `cohort_from=${from}&cohort_to=${to}`
  const cohorts = await api.call('GET', `/v4/analytics/cohorts?grouping=quarter&${range}`)
  expect(cohorts.body).toMatchObject({ cohort_from: Date.UTC(2026, 0) / 1000, cohort_to: Math.ceil(to / DAY) * DAY })
  expect((await api.call('GET', `/v4/analytics/ltv?${range}`)).body).toMatchObject({
    cohort_from: from,
    cohort_to: Math.ceil(to / DAY) * DAY,
  })
})

/** A user in a project of its own, and what the project posts. */
async function project() {
  const { secret: key } = await api.newProject()
  const post = async (path: string, body: unknown) => {
    const answer = await api.call('POST', path, { key, body })
    expect([answer.status < 300, answer.text]).toEqual([true, answer.text])
    expect(answer.text).not.toContain('"status":"rejected"')
    return answer.body
  }
  const user = async (): Promise<string> => (await post('/v4/users', { environment: 'prod' })).id
  const sale = (customer_uid: string, id: string, rest: object) => ({
    event_id: id,
    event_name: 'in_app_purchase',
    customer_uid,
    platform: 'iOS',
    product_id: 'coins',
    happened_at: iso(now - 60),
    transaction: { transaction_id: id },
    ...rest,
  })
  return { key, post, user, sale, get: async (path: string) => (await api.call('GET', path, { key })).body }
}

test('money without a rate counts in counts and is listed; dollars that the sender stated replace the rate', async () => {
  const { post, user, sale, get } = await project()
  const payer = await user()
  await post('/v4/events', {
    events: [
      sale(payer, 'francs', { price: '10.55', currency: 'CHF' }),
      sale(payer, 'stated', { price: '20', currency: 'CHF', price_usd: '22' }),
      sale(payer, 'euros', { price: '10', currency: 'EUR' }),
    ],
  })
  const { total, unconverted } = await get('/v4/analytics/cohorts?mode=by_days')
  expect(total.periods[0]).toMatchObject({ label: 'D0', payers: 1, subscriptions: 0, revenue: 33, arpu: 33, arpas: 0 })
  expect(unconverted).toEqual([{ currency: 'CHF', transactions: 1, amount: 10.55 }])
  const net = await get('/v4/analytics/ltv?revenue_type=net&currency=EUR')
  expect(net.series[0]).toMatchObject({ revenue: 21 })
  expect(net.unconverted).toEqual(unconverted)
  expect((await get('/v4/analytics/ltv?filter[country][]=nowhere')).unconverted).toBeUndefined()
})

test('what went back of stated proceeds is taken from them, rounded once', async () => {
  const { post, user, sale, get } = await project()
  const payer = await user()
  const back = (id: string, currency: string, price: string) =>
    sale(payer, `${id}:back`, { event_name: 'in_app_refunded', transaction: { transaction_id: id }, price, currency })
  await post('/v4/events', {
    events: [
      sale(payer, 'dollars', { price: '10', currency: 'USD', proceeds: '8' }),
      back('dollars', 'USD', '5'),
      sale(payer, 'francs', { price: '10', currency: 'CHF', price_usd: '11', proceeds: '9', proceeds_usd: '9.000010' }),
      back('francs', 'CHF', '2.50'),
    ],
  })
  // 8 - 4, and 9.00001 - 2.250003 (of 2.2500025, half away from zero) = 6.750007.
  expect((await get('/v4/analytics/ltv?revenue_type=net')).series[0]).toMatchObject({ revenue: 10.75 })
  expect((await get('/v4/analytics/ltv')).series[0]).toMatchObject({ revenue: 21 })
})

test('a period after which a charge is retried is not over', async () => {
  const { key, post, user, get } = await project()
  const payer = await user()
  await post('/v4/products', { id: 'monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'monthly' })
  const { url } = await post(`/v4/users/${payer}/purchases`, {
    currency: 'USD',
    price: '10',
    purchased_at: iso(now - 40 * DAY),
    expires_at: iso(now - 10 * DAY),
    app_store_data: { transaction_id: 'first', original_transaction_id: 'first', product_id: 'monthly' },
  })
  const second = async () => {
    const query = `cohort_definition=new_paying&cohort_from=${now - 60 * DAY}&cohort_to=${now - 30 * DAY}`
    const { periods } = (await get(`/v4/analytics/cohorts?${query}`)).total
    return periods.map((period: { label: string; is_complete: boolean }) => [period.label, period.is_complete])
  }
  expect(await second()).toEqual([
    ['P1', true],
    ['P2', true],
  ])
  const retried = await api.call('PATCH', url, { key, body: { billing_retry_at: iso(now - 10 * DAY) } })
  expect(retried.status).toBe(200)
  expect(await second()).toEqual([
    ['P1', true],
    ['P2', false],
  ])
})

test('segments are the 50 values with most users, then the rest', async () => {
  const { post, user, sale, get } = await project()
  const users = await Promise.all(Array.from({ length: 53 }, user))
  const campaign = (n: number) => `campaign ${String(n).padStart(2, '0')}`
  const seen = users.map((customer_uid, n) => ({
    event_id: `seen-${n}`,
    event_name: 'app_opened',
    customer_uid,
    happened_at: iso(now - 60),
    attribution: { media_source: 'Facebook', campaign: campaign(n === 52 ? 51 : n) },
  }))
  await post('/v4/events', { events: seen.slice(0, 50) })
  await post('/v4/events', { events: [...seen.slice(50), sale(users[50]!, 'late', { price: '3', currency: 'USD' })] })
  const { segments, total } = await get('/v4/analytics/cohorts?mode=by_days&segment=campaign_name')
  expect(total.users).toBe(53)
  expect(segments.map((segment: { code: string }) => segment.code)).toEqual([
    campaign(51),
    ...Array.from({ length: 49 }, (_, n) => campaign(n)),
    'other',
  ])
  expect(segments[50]).toMatchObject({ label: 'Other', total: { users: 2 } })
  // A row of a week has as many periods as days of the week have begun.
  expect(segments[50].total.periods[0]).toMatchObject({ label: 'D0', payers: 1, revenue: 3 })
  const ltv = await get('/v4/analytics/ltv?segment=campaign_name')
  expect(ltv.segments.at(-1)).toMatchObject({ code: 'other', cohort_users: 2, paying_users: 1 })
})

describe('the meta', () => {
  test('of cohorts lists what can be asked, with the values that occur', async () => {
    const { post, user, sale, get } = await project()
    const payer = await user()
    await post('/v4/events', { events: [sale(payer, 'one', { price: '10', currency: 'USD', attribution: { media_source: 'Facebook' } })] })
    const meta = await get('/v4/analytics/cohorts/meta')
    const codes = (name: string): string[] => meta[name].map((one: { code: string }) => one.code)
    expect(codes('metrics').sort()).toEqual(['arpas', 'arppu', 'arpu', 'payers', 'revenue', 'subscriptions'])
    for (const code of codes('segmentations')) {
      const { status, body } = await api.call('GET', `/v4/analytics/cohorts?mode=by_days&segment=${code}&cohort_from=${now - DAY}`)
      expect([status, body.segments]).toEqual([200, []])
    }
    for (const [name, parameter] of Object.entries({
      modes: 'mode',
      groupings: 'grouping',
      cohort_definitions: 'cohort_definition',
      revenue_types: 'revenue_type',
    }))
      for (const code of codes(name)) expect((await get(`/v4/analytics/cohorts?${parameter}=${code}`))[parameter]).toBe(code)
    const attributes = meta.filter_conditions.map((condition: { attribute: string }) => condition.attribute)
    expect(attributes).toEqual(expect.arrayContaining([...codes('segmentations'), 'app_version', 'segment_id', 'device_id']))
    const sources = meta.filter_conditions.find((condition: { attribute: string }) => condition.attribute === 'media_source_name')
    expect(sources.values).toEqual([{ code: 'Facebook', label: 'Facebook' }])
    for (const attribute of attributes) expect((await get(`/v4/analytics/cohorts?filter[${attribute}][]=none`)).total).toBeNull()
  })

  test('of LTV has the same attributes, which every question has', async () => {
    const [cohorts, ltv] = await Promise.all(
      ['cohorts', 'ltv'].map(async name => (await api.call('GET', `/v4/analytics/${name}/meta`)).body),
    )
    expect(ltv.segmentations).toEqual(cohorts.segmentations)
    expect(ltv.filter_conditions).toEqual(cohorts.filter_conditions.map((condition: object) => ({ ...condition, persistent: true })))
  })
})

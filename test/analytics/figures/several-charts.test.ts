// Charts that are asked for together: the figures of each alone, of one moment.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHARTS, chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'
import { SEED } from './draws.ts'
import { type Plan, plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1000)
const CODES = [...CHARTS.map(({ code }) => code), 'user-to-trial-conversion', 'subscription-cancellation-rate']

let api: TestApi
let posted: PostedPlan
const rates = ratesBefore(now)
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
  const [drawn] = fc.sample(plan, { numRuns: 1, seed: SEED }) as [Plan]
  posted = await postPlan(api, drawn, rates)
})
afterAll(() => api.stop())

const list = (codes: readonly string[], query = '') => `/v4/analytics/charts?${codes.map(code => `codes[]=${code}`).join('&')}&${query}`
const window = `from=${now - 400 * DAY}&to=${now - 300}`
const asked = async (codes: readonly string[], query: string) => api.call('GET', list(codes, query), { key: posted.key })

/** Twelve at a time. */
const parts = Array.from({ length: Math.ceil(CODES.length / 12) }, (_, i) => CODES.slice(12 * i, 12 * (i + 1)))

describe.each([
  ['plain', `${window}&unit=month&previous=true`],
  ['in another currency, by the calendar of a zone', `${window}&unit=week&timezone=America/New_York&currency=EUR`],
  ['filtered', `${window}&unit=month&filter[target_platform][]=iOS&filter[country][]=DE&filter[country][]=unknown`],
  ['by a value', `${window}&unit=month&segmentation=target_platform&max_series=1&previous=true`],
])('%s', (_, query) => {
  test('every chart has the figures that it has alone, on both drivers', async () => {
    for (const { call } of callsOf(api))
      for (const codes of parts) {
        const { status, body } = await call('GET', list(codes, query), { key: posted.key })
        expect([status, body.object, body.url, body.has_more]).toEqual([200, 'list', '/v4/analytics/charts', false])
        const left = (body.left_out ?? []).map(({ code }: { code: string }) => code)
        expect(body.data.map(({ code }: { code: string }) => code)).toEqual(codes.filter(code => !left.includes(code)))
        expect(new Set(body.data.map(({ as_of }: { as_of: number }) => as_of)).size).toBe(1)
        for (const { as_of, ...chart } of body.data) {
          const alone = await call('GET', `/v4/analytics/charts/${chart.code}?${query}`, { key: posted.key })
          expect({ ...alone.body, as_of }).toEqual({ ...chart, as_of })
        }
        for (const code of left) expect((await call('GET', `/v4/analytics/charts/${code}?${query}`, { key: posted.key })).status).toBe(400)
      }
    expectAnswersByReplicas(api)
  })
})

test('a chart that lacks a filter or the segmentation is left out, with what it would refuse alone; the others are answered', async () => {
  const { status, body } = await asked(['sales', 'users-overview', 'user-to-paid'], `${window}&unit=month&filter[product_id][]=monthly`)
  expect([status, body.data.map(({ code }: { code: string }) => code)]).toEqual([200, ['sales']])
  const details = [{ field: 'filter[product_id][]', message: 'does not filter these figures' }]
  expect(body.left_out).toEqual([
    { code: 'users-overview', details },
    { code: 'user-to-paid', details },
  ])
  const alone = await api.call('GET', `/v4/analytics/charts/users-overview?${window}&unit=month&filter[product_id][]=monthly`)
  expect(alone.body.error.details).toEqual(details)
  const divided = (await asked(['subscriptions-overview', 'mrr'], `${window}&unit=month&segmentation=country`)).body
  expect([divided.data[0].code, divided.left_out]).toEqual([
    'mrr',
    [{ code: 'subscriptions-overview', details: [{ field: 'segmentation', message: 'is not possible for this chart' }] }],
  ])
  expect((await asked(['users-overview'], `${window}&filter[product_id][]=monthly`)).body).toMatchObject({ data: [] })
})

test('nothing is left out where there is nothing to leave out', async () => {
  expect('left_out' in (await asked(['sales'], window)).body).toBe(false)
})

test.each([
  ['codes[]', list([], window)],
  ['codes[]', list(['sales', 'sales'], window)],
  ['codes[]', list(['sales', 'nothing'], window)],
  ['codes[]', list(CODES.slice(0, 13), window)],
  ['codes', `/v4/analytics/charts?codes=sales&${window}`],
  ['unit', list(['sales', 'mrr'], 'from=0&unit=hour')],
  ['to', list(['sales'], `from=${now}&to=${now}`)],
  ['currency', list(['sales'], 'currency=XXX')],
  ['environment', list(['sales'], 'environment=0')],
  ['timezone', list(['sales'], 'timezone=Mars/Olympus')],
  ['segmentation', list(['sales'], 'segmentation=nothing')],
  ['filter[nothing][]', list(['sales'], 'filter[nothing][]=a')],
])('%s is refused in %s', async (field, path) => {
  const { status, body } = await api.call('GET', path)
  expect([status, body.error.code]).toEqual([400, 'invalid_data'])
  expect(body.error.details.map((detail: { field: string }) => detail.field)).toContain(field)
})

test('charts with too many points for one answer are refused together, and each of them is answered alone', async () => {
  const key = (await api.newProject()).secret
  const events = Array.from({ length: 70 }, (_, n) => ({
    ...{ event_id: `many-${n}`, event_name: 'in_app_purchase', identity_id: `many-${n}`, platform: 'iOS', product_id: `product-${n}` },
    ...{
      happened_at: new Date((now - 7_200) * 1000).toISOString(),
      price: '1',
      currency: 'USD',
      transaction: { transaction_id: `many-${n}` },
    },
  }))
  expect((await api.call('POST', '/v4/events', { key, body: { events } })).body.created).toBe(70)
  const hours = `from=${now - 1_998 * 3_600}&to=${now}&unit=hour&segmentation=product_id&previous=true`
  const { status, body } = await api.call('GET', list(['sales', 'proceeds'], `${hours}&max_series=70`), { key })
  expect([status, body.error.code, body.error.details[0].field]).toEqual([400, 'invalid_data', 'codes[]'])
  const alone = await api.call('GET', list(['sales'], `${hours}&max_series=70`), { key })
  expect([alone.status, alone.body.data[0].series.length >= 70]).toEqual([200, true])
  expect((await api.call('GET', list(['sales', 'proceeds'], `${hours}&max_series=2`), { key })).body.data).toHaveLength(2)
})

test('aliases are charts of their own code', async () => {
  const { data } = (await asked(['user-to-trial', 'user-to-trial-conversion'], window)).body
  expect(data.map(({ code }: { code: string }) => code)).toEqual(['user-to-trial', 'user-to-trial-conversion'])
  expect(data[1].series).toEqual(data[0].series)
  expect(chartOf('user-to-trial-conversion')).toBe(chartOf('user-to-trial'))
})

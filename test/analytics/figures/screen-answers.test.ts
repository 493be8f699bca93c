import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { userOf } from '../../harness/purchases.ts'
import { DAY, HOUR } from '../../oracle/history.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Result = { status: string; error: unknown }

const AT = Date.parse('2026-03-10T12:00:00Z') / 1000
const seconds = (at: number) => new Date(at * 1000).toISOString()
const window = `from=${AT - 2 * DAY}&to=${AT + 2 * DAY}`
const answer = (path: string, key?: string) => api.call('GET', path, key === undefined ? {} : { key })

async function postEvents(key: string, events: Record<string, unknown>[]): Promise<void> {
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body.results.map(({ status, error }: Result) => [status, error])).toEqual(events.map(() => ['created', null]))
}

async function homeWithScreen() {
  const { secret: key } = await api.newProject()
  const user = await userOf(api, key)
  const { body: screen } = await api.call('POST', '/v4/screens', { key, body: { name: 'Summer' } })
  const sale = (id: string, more: Record<string, unknown>) => ({
    event_id: `event-${id}`,
    event_name: 'in_app_purchase',
    customer_uid: user,
    platform: 'iOS',
    product_id: 'coins',
    happened_at: seconds(AT),
    transaction: { transaction_id: id },
    price: '10',
    currency: 'USD',
    ...more,
  })
  const sight = (id: string, more: Record<string, unknown>) => ({
    event_id: `event-${id}`,
    event_name: 'screen_interacted',
    customer_uid: user,
    happened_at: seconds(AT - HOUR),
    ...more,
  })
  return { key, screen: screen.id as string, sale, sight }
}

test('a deleted screen is not found, and counts among all', async () => {
  const { key, screen, sale, sight } = await homeWithScreen()
  const properties = { screen_id: screen }
  await postEvents(key, [
    sight('view', { properties }),
    sight('impression', { event_name: 'screen_shown', properties }),
    sale('seen-before', {}),
    sale('named', { screen_id: screen, currency: 'CHF' }),
  ])
  const one = await answer(`/v4/screens/${screen}/analytics?${window}`, key)
  expect(one.body).toMatchObject({
    object: 'screen_analytics',
    url: `/v4/screens/${screen}/analytics`,
    data: {
      kpis: {
        purchases: { value: 2, prev: 0, sparkline: [0, 0, 2, 0] },
        revenue: { value: 10, prev: 0, sparkline: [0, 0, 10, 0] },
        conversion_rate: { value: 0, prev: 0, sparkline: [0, 0, 0, 0] },
      },
      period: {
        from: AT - 2 * DAY,
        to: AT + 2 * DAY,
        unit: 'day',
        starts: [-2, -1, 0, 1].map(days => AT + days * DAY),
        partial_from: null,
      },
      screen: { uid: screen, name: 'Summer', status: 'draft', type: null },
    },
    unconverted: [{ currency: 'CHF', transactions: 1, amount: 10 }],
  })
  expect((await api.call('DELETE', `/v4/screens/${screen}`, { key })).status).toBe(204)
  expect((await answer(`/v4/screens/${screen}/analytics?${window}`, key)).status).toBe(404)
  const all = await answer(`/v4/screens/analytics/overview?${window}`, key)
  expect(all.body.data.kpis).toMatchObject({
    views: { value: 1, sparkline: [0, 1, 0, 0] },
    impressions: { value: 1 },
    purchases: { value: 2 },
    conversion: { value: 2, sparkline: [0, 0, 0, 0] },
  })
})

test('the overview has the figures of each screen that is asked for, in that order', async () => {
  const { key, screen, sale, sight } = await homeWithScreen()
  const seen = (id: string, screen_id: string, more = {}) => sight(id, { properties: { screen_id }, ...more })
  await postEvents(key, [
    seen('view', screen),
    seen('again', screen),
    seen('shown', "o'other", { event_name: 'screen_shown' }),
    sale('own', { screen_id: screen }),
    sale('else', { screen_id: 'third', price: '30' }),
  ])
  const { body } = await answer(`/v4/screens/analytics/overview?${window}&screens[]=nobody&screens[]=third&screens[]=${screen}`, key)
  const one = await answer(`/v4/screens/${screen}/analytics?${window}`, key)
  expect(body.data.screens.map(({ uid }: { uid: string }) => uid)).toEqual(['nobody', 'third', screen])
  const [nobody, third, own] = body.data.screens.map(({ kpis }: { kpis: object }) => kpis)
  expect(nobody).toMatchObject({ views: { value: 0, sparkline: [0, 0, 0, 0] }, revenue: { value: 0 }, conversion: { value: 0 } })
  expect(third).toMatchObject({ purchases: { value: 1 }, revenue: { value: 30, prev: 0, sparkline: [0, 0, 30, 0] } })
  expect(own).toMatchObject({ views: { value: 2, sparkline: [0, 2, 0, 0] }, impressions: { value: 0 }, conversion: { value: 0.5 } })
  for (const code of ['purchases', 'trials', 'revenue']) expect(own[code]).toEqual(one.body.data.kpis[code])
  expect(body.data.kpis).toMatchObject({ impressions: { value: 1 }, purchases: { value: 2 }, revenue: { value: 40 } })
  const faulty = await answer(`/v4/screens/analytics/overview?${window}&screens[]=o'other`, key)
  expect([faulty.status, faulty.body.error.details[0].field]).toEqual([400, 'screens[]'])
})

test('events without user or screen, and closed screens, are no views', async () => {
  const { key, screen, sight } = await homeWithScreen()
  const properties = { screen_id: screen }
  await postEvents(key, [
    sight('without-user', { customer_uid: undefined, properties }),
    sight('without-screen', {}),
    sight('closed', { event_name: 'screen_closed', properties }),
    sight('a-view', { properties }),
  ])
  const { body } = await answer(`/v4/screens/analytics/overview?${window}`, key)
  expect([body.data.kpis.views.value, body.data.kpis.impressions.value]).toEqual([1, 0])
})

test.each([
  ['from=10&to=10', 'to'],
  ['from=0&to=86400000&unit=hour', 'unit'],
  ['timezone=Europe/Atlantis', 'timezone'],
  ['currency=XTS', 'currency'],
  ['environment=0', 'environment'],
  ['from=-1', 'from'],
])('%s is refused on %s', async (query, field) => {
  const { key, screen } = await homeWithScreen()
  for (const path of ['analytics/overview', `${screen}/analytics`]) {
    const { status, body } = await answer(`/v4/screens/${path}?${query}`, key)
    expect([status, body.error.code, body.error.details]).toMatchObject([400, 'invalid_data', [{ field }]])
  }
})

test('an unknown screen is not found', async () => {
  const { status, body } = await answer('/v4/screens/scr_nobody/analytics')
  expect([status, body.error.code]).toEqual([404, 'not_found'])
})

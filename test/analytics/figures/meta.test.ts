import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { product, userOf } from '../../harness/purchases.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
})
afterAll(async () => {
  expectAnswersByReplicas(api)
  await api.stop()
})

type Condition = { attribute: string; values?: { code: string; label: string }[] }

/** What both drivers answer. */
async function metaOf(key: string, code = 'sales') {
  const [postgres, duckdb] = await Promise.all(callsOf(api).map(({ call }) => call('GET', `/v4/analytics/charts/${code}/meta`, { key })))
  expect(duckdb!.body).toEqual(postgres!.body)
  return postgres!.body
}
const conditionsOf = async (key: string, code?: string): Promise<Condition[]> => (await metaOf(key, code)).filter_conditions
const valuesOf = async (key: string, attribute: string) =>
  (await conditionsOf(key)).find(condition => condition.attribute === attribute)!.values!
const codesOf = async (key: string, attribute: string) => (await valuesOf(key, attribute)).map(({ code }) => code)

async function post(key: string, events: object[]): Promise<void> {
  const { body } = await api.call('POST', '/v4/events', { key, body: { events } })
  expect(body.results.map(({ status }: { status: string }) => status)).toEqual(events.map(() => 'created'))
}

/** Anna and Ben buy on iOS, Carl on Android; nothing is known of Dora. */
async function shop(): Promise<TestProjectKeys> {
  const project = await api.newProject()
  const key = project.secret
  const [anna, ben, carl] = [await userOf(api, key), await userOf(api, key), await userOf(api, key)]
  await userOf(api, key)
  const ios = { platform: 'iOS', device: { country: 'DE' }, app: { version: '2.0' }, currency: 'EUR' }
  await post(key, [
    item({ customer_uid: anna, ...ios, product_id: 'coins', attribution: { media_source: 'ads', campaign: 'spring' } }),
    // Abroad: another country than the first known one.
    item({
      customer_uid: anna,
      ...ios,
      product_id: 'coins',
      device: { country: 'US' },
      currency: 'USD',
      happened_at: '2026-03-02T12:00:00Z',
    }),
    item({ customer_uid: ben, ...ios, product_id: 'gems' }),
    item({ customer_uid: carl, platform: 'Android', device: { country: 'US' }, product_id: 'coins' }),
  ])
  return project
}

describe('the meta of a chart', () => {
  test('describes the chart by the name that was asked for', async () => {
    const { filter_conditions, segmentations, ...rest } = await metaOf(api.project.secret, 'subscription-cancellation-rate')
    expect(rest).toEqual({
      object: 'analytics_chart_meta',
      url: '/v4/analytics/charts/subscription-cancellation-rate/meta',
      code: 'subscription-cancellation-rate',
      title: 'Subscription cancellation',
      description: 'Share of starts and conversions whose run is cancelled by now.',
      docUrl: '/docs/analytics#subscription-cancellation-rate',
      isAvailable: true,
      availabilityMessage: '',
      type_default: 'line',
      types: ['line', 'column', 'area'],
      units_available: ['hour', 'day', 'week', 'month'],
    })
    expect(segmentations.slice(0, 2)).toEqual([
      { code: 'target_platform', label: 'Store' },
      { code: 'product_id', label: 'Product' },
    ])
    expect(filter_conditions.find(({ attribute }: Condition) => attribute === 'device_id')).toEqual({
      attribute: 'device_id',
      label: 'Device ID',
      category: 'user',
      multiple: true,
      persistent: true,
      type: 'text',
    })
    expect((await metaOf(api.project.secret, 'mrr')).type_default).toBe('area')
    expect((await metaOf(api.project.secret, 'sales')).type_default).toBe('column')
  })

  test('has the attributes that the chart takes', async () => {
    const users = (await conditionsOf(api.project.secret, 'users-overview')).map(({ attribute }) => attribute)
    expect(users).toContain('target_platform')
    expect(users).not.toContain('product_id')
    expect((await conditionsOf(api.project.secret)).map(({ attribute }) => attribute)).toContain('product_id')
    expect((await metaOf(api.project.secret, 'subscriptions-overview')).segmentations).toEqual([])
  })

  test('of an unknown code is 404, for another environment 400', async () => {
    const missing = await api.call('GET', '/v4/analytics/charts/toString/meta')
    expect([missing.status, missing.body.error.code]).toEqual([404, 'not_found'])
    for (const path of ['/v4/analytics/charts/mrr/meta', '/v4/analytics/currencies']) {
      const { status, body } = await api.call('GET', `${path}?environment=0`)
      expect([status, body.error.details[0].field]).toEqual([400, 'environment'])
      expect((await api.call('GET', `${path}?environment=1`)).status).toBe(200)
    }
  })
})

describe('the values of an attribute', () => {
  test('are those that occur, of most users first, ties by label', async () => {
    const { secret, sandbox } = await shop()
    expect(await valuesOf(secret, 'target_platform')).toEqual([
      { code: 'iOS', label: 'Apple App Store' },
      { code: 'Android', label: 'Google Play' },
      { code: 'unknown', label: 'Unknown' },
    ])
    // Anna has both countries and both currencies.
    expect(await codesOf(secret, 'country')).toEqual(['DE', 'US', 'unknown'])
    expect(await codesOf(secret, 'purchase_currency')).toEqual(['EUR', 'USD'])
    expect(await codesOf(secret, 'app_version')).toEqual(['2.0', 'unknown'])
    expect(await codesOf(secret, 'locale')).toEqual(['unknown'])
    expect(await codesOf(secret, 'media_source_name')).toEqual(['unknown', 'ads'])
    expect(await codesOf(secret, 'campaign_name')).toEqual(['unknown', 'spring'])
    expect(await codesOf(sandbox, 'country')).toEqual([])
  })

  test('are products as they are linked now, with the users of all their words', async () => {
    const { secret } = await shop()
    expect(await codesOf(secret, 'product_id')).toEqual(['coins', 'gems'])
    await product(
      api,
      { id: 'tokens', type: 'consumable', duration: undefined, apple_product_id: 'gems', google_product_id: 'coins' },
      secret,
    )
    // `coins` is left to Anna on iOS; `tokens` has Ben and Carl.
    expect(await codesOf(secret, 'product_id')).toEqual(['tokens', 'coins'])
  })

  test('are at most 500', async () => {
    const { secret: key } = await api.newProject()
    const [anna, ben] = [await userOf(api, key), await userOf(api, key)]
    const of = (n: number) => item({ customer_uid: anna, app: { version: String(1000 + n) } })
    await post(key, [...Array.from({ length: 502 }, (_, n) => of(n)), item({ customer_uid: ben, app: { version: '1501' } })])
    const codes = await codesOf(key, 'app_version')
    expect(codes).toHaveLength(500)
    expect([codes[0], codes[1], codes.at(-1)]).toEqual(['1501', '1000', '1498'])
  })

  test('are segments and groups of experiments by their names, the newest first', async () => {
    const { secret: key } = await api.newProject()
    const create = async (path: string, body: object) => (await api.call('POST', path, { key, body })).body.id as string
    const older = await create('/v4/segments', { name: 'Older' })
    const newer = await create('/v4/segments', { name: 'Newer' })
    const segments = await valuesOf(key, 'segment_id')
    expect(segments.slice(0, 3)).toEqual([
      { code: newer, label: 'Newer' },
      { code: older, label: 'Older' },
      { code: 'active_subscribers', label: 'Active subscribers' },
    ])
    const price = await create('/v4/experiments', { name: 'Price', alias_id: 'price' })
    const low = await create(`/v4/experiments/${price}/groups`, { name: 'Low', weight: 1, is_control: true })
    const unnamed = await create(`/v4/experiments/${price}/groups`, { weight: 1, is_control: false })
    expect(await valuesOf(key, 'experiment_group_id')).toEqual([
      { code: `${price}:${low}`, label: 'Price: Low' },
      { code: `${price}:${unnamed}`, label: `Price: ${unnamed}` },
    ])
  })
})

test('the currencies of figures are USD, then those that have rates', async () => {
  const currencies = async () => (await api.call('GET', '/v4/analytics/currencies')).body
  expect((await currencies()).data).toEqual(['USD'])
  await api.pool.query(
    `insert into currency_rates (currency, date, usd_per_unit)
     values ('VND', '2026-03-01', 0.00004), ('USD', '2026-03-01', 1), ('EUR', '2026-03-01', 1.1), ('EUR', '2026-03-02', 1.2), ('AED', '2026-03-01', 0.27)`,
  )
  expect(await currencies()).toEqual({
    object: 'list',
    url: '/v4/analytics/currencies',
    data: ['USD', 'AED', 'EUR', 'VND'],
    has_more: false,
  })
})

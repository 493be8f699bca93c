import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { product } from '../../harness/purchases.ts'
import { until } from '../../harness/until.ts'
import { appleAdsServer } from '../../harness/vendors/apple-ads.ts'
import {
  type AppleAdsServer,
  addUser,
  ago,
  CAMPAIGN,
  connect,
  connected,
  DAY,
  entities,
  GROUP,
  KEYWORD,
  readAgain,
  second,
} from './fixture.ts'

let api: TestApi
let apple: AppleAdsServer
let project: TestProjectKeys
let key: string

beforeAll(async () => {
  apple = await appleAdsServer()
  const quick = { waits: [1, 1, 1, 1], attemptLimitMs: 10_000 }
  api = await startApi({ worker: true, leaseMs: 30_000, policies: { delivery: quick, step: quick } })
})
afterAll(async () => {
  await api.stop()
  await apple.close()
})
beforeEach(async () => {
  project = await api.newProject()
  key = project.secret
  await product(api, { id: 'coins', type: 'consumable', duration: undefined, apple_product_id: 'com.example.coins' }, key)
  apple.state.entities = entities()
  apple.state.orgs = [Number(apple.org)]
  apple.state.currency = 'USD'
  apple.state.roles = ['API Campaign Manager']
  apple.state.pageSize = 1000
  apple.state.token = { status: 200 }
  apple.state.instead = () => undefined
})

const get = (path: string, of = key) => api.call('GET', path, { key: of })
const RANGE = `from=${second(ago(45))}&to=${second(ago(0))}`
const report = async (query = '', range = RANGE) => {
  const answer = await get(`/v4/analytics/apple-ads/report?${range}${query}`)
  expect(answer.text).toContain('"object"')
  return answer.body
}
const BY_ID = { media_source: 'Apple Search Ads', campaign: String(CAMPAIGN), ad_set: String(GROUP), ad: String(KEYWORD) }
const BY_NAME = { media_source: 'apple search ads', campaign: 'Brand', ad_set: 'Exact words', ad: 'perennial' }

test('campaigns have their spend beside what their users paid, and closed parts of their windows', async () => {
  const at = (days: number, seconds = 3600) => second(ago(days)) + seconds
  await addUser(api, key, {
    attribution: BY_ID,
    created: at(40),
    paid: [
      [60, '10'],
      [5 * DAY, '20'],
    ],
  })
  await addUser(api, key, { attribution: BY_NAME, created: at(10), paid: [[2 * DAY, '7']] })
  await addUser(api, key, { attribution: { ...BY_ID, campaign: '999' }, created: at(10), paid: [[0, '5']] })
  await addUser(api, key, { attribution: { media_source: 'Facebook', campaign: 'Brand' }, created: at(10), paid: [[0, '1000']] })
  await connect(api, project, apple.settings)
  await connected(api, key)
  const { rows, total, unallocated, pagination, partial_sources, meta } = await report('&windows=d3,d30,lifetime')
  expect(rows.map((row: { campaign_id: string }) => row.campaign_id)).toEqual(['77', String(CAMPAIGN)])
  expect(rows[0]).toMatchObject({ campaign_name: 'Rivals', status: 'paused', delivery: 'not_running', roas: 0 })
  expect(rows[0].apple).toEqual({ spend: 99.5, impressions: 9, taps: 8, installs: 0, avg_cpa: null })
  // 30 + 8.75 + 1.25 for 15 installs; 37 from two users.
  expect(rows[1]).toMatchObject({
    campaign_name: 'Brand',
    status: 'enabled',
    delivery: 'running',
    tracked: { users: 2, trials: 0, paying_users: 2, revenue: 37, arpu: 18.5, arppu: 18.5 },
    apple: { spend: 40, impressions: 1600, taps: 160, installs: 15, avg_cpa: 2.67 },
    roas: 0.925,
  })
  expect(rows[1].windows.d3).toEqual({
    is_closed: false,
    closed_from: ago(45),
    closed_through: ago(5),
    spend: 40,
    spend_closed: 40,
    payers: 2,
    revenue: 17,
    roas: 0.425,
    cac: 20,
  })
  expect(rows[1].windows.d30).toEqual({
    is_closed: false,
    closed_from: ago(45),
    closed_through: ago(32),
    spend: 40,
    spend_closed: 30,
    payers: 1,
    revenue: 30,
    roas: 1,
    cac: 30,
  })
  expect(rows[1].windows.lifetime).toMatchObject({ is_closed: false, closed_through: ago(1), spend_closed: 40, payers: 2, revenue: 37 })
  expect(unallocated).toMatchObject({ apple: null, roas: null, tracked: { users: 1, paying_users: 1, revenue: 5 } })
  expect(total).toMatchObject({ tracked: { users: 3, revenue: 42 }, apple: { spend: 139.5 }, roas: 0.3011 })
  expect(pagination).toEqual({ limit: 100, offset: 0, total_rows: 2, has_more: false })
  expect(meta).toMatchObject({ data_through: ago(1), rate_unavailable_for: null })
  expect(partial_sources).toEqual([{ source: 'apple', reason: 'settling', from: ago(7), through: ago(1) }])

  expect((await report('&limit=1&offset=1')).rows).toHaveLength(1)
  expect((await report('&filter[status][]=paused')).total.apple.spend).toBe(99.5)
  expect((await report('&filter[delivery][]=running')).unallocated.tracked.users).toBe(0)
  expect((await report(`&filter[campaign_id][]=${CAMPAIGN}`)).total).toMatchObject({ tracked: { users: 2 }, apple: { spend: 40 } })
  expect((await report('&filter[country][]=DE')).rows).toMatchObject([{ campaign_id: String(CAMPAIGN), apple: { spend: 1.25 } }])
})

test('ad groups and keywords have rows of their own, users by ids or names', async () => {
  const created = second(ago(10)) + 60
  await addUser(api, key, { attribution: BY_NAME, created, paid: [[0, '3']] })
  await addUser(api, key, { attribution: { ...BY_ID, ad: 'another word' }, created, paid: [[0, '4']] })
  await connect(api, project, apple.settings)
  await connected(api, key)
  const groups = await report('&level=groups')
  expect(groups.rows).toMatchObject([
    { ad_group_id: String(GROUP), ad_group_name: 'Exact words', campaign_name: 'Brand', keyword_id: null, tracked: { users: 2 } },
  ])
  const keywords = await report('&level=keywords')
  expect(keywords.rows).toMatchObject([
    {
      keyword_id: String(KEYWORD),
      keyword: 'perennial',
      match_type: 'exact',
      ad_group_id: String(GROUP),
      apple: { spend: 6 },
      tracked: { users: 1, revenue: 3 },
    },
  ])
  expect(keywords.unallocated.tracked).toMatchObject({ users: 1, revenue: 4 })
})

test('a window is closed for a day when the last user of that day has its last day behind', async () => {
  const end = second(ago(9))
  await addUser(api, key, { attribution: BY_ID, created: end - 1, paid: [[4 * DAY - 1, '1']] })
  await addUser(api, key, { attribution: BY_ID, created: end - 1, paid: [[4 * DAY, '2']] })
  await connect(api, project, apple.settings)
  await connected(api, key)
  const range = `from=${second(ago(10))}&to=${second(ago(9))}`
  expect((await report('&windows=d3', range)).rows[1].windows.d3).toMatchObject({ is_closed: true, payers: 1, revenue: 1 })
})

test('days that were not read are unknown, read days without spend are 0', async () => {
  await connect(api, project, apple.settings)
  await connected(api, key)
  await api.pool.query(`delete from apple_ads_days where date in ($1, $2)`, [ago(20), ago(19)])
  const { partial_sources } = await report()
  expect(partial_sources[0]).toEqual({ source: 'apple', reason: 'not_read', from: ago(20), through: ago(19) })
  const series = (await get(`/v4/analytics/apple-ads/report/series?metric=spend&from=${second(ago(21))}&to=${second(ago(18))}`)).body
  expect(series.points).toEqual([
    { date: ago(21), value: 0 },
    { date: ago(20), value: null },
    { date: ago(19), value: null },
  ])
  expect(series.coverage).toEqual({ from: ago(21), through: ago(21), days_known: 1, days_total: 3 })
  const old = await report('', 'from=0&to=86400')
  expect(old.total).toMatchObject({ apple: null, roas: null, tracked: { users: 0, arpu: null } })
})

test('the spend of a closed part of which no day was read is unknown, and so is what follows from it', async () => {
  await addUser(api, key, { attribution: BY_ID, created: second(ago(40)) + 60, paid: [[0, '3']] })
  await connect(api, project, apple.settings)
  await connected(api, key)
  const windowsOf = async () => (await report('&windows=d30,lifetime')).rows.map((row: { windows: object }) => row.windows)
  await api.pool.query(`delete from apple_ads_days where date <= $1`, [ago(31)])
  for (const { d30, lifetime } of await windowsOf()) {
    expect(d30).toMatchObject({ closed_through: ago(32), spend_closed: null, roas: null, cac: null })
    expect(lifetime.spend_closed).toBeGreaterThan(0)
  }
  await api.pool.query(`insert into apple_ads_days select integration, $1, read_at from apple_ads_days where date = $2`, [ago(32), ago(10)])
  expect((await windowsOf()).map(({ d30 }: { d30: { spend_closed: number } }) => d30.spend_closed)).toEqual([0, 30])
})

test('the series has each day alone, at most 366 of them', async () => {
  await addUser(api, key, {
    attribution: BY_ID,
    created: second(ago(10)),
    paid: [
      [0, '4'],
      [DAY, '6'],
    ],
  })
  await connect(api, project, apple.settings)
  await connected(api, key)
  const series = async (metric: string) =>
    (
      await get(
        `/v4/analytics/apple-ads/report/series?metric=${metric}&from=${second(ago(10))}&to=${second(ago(8))}&filter[status][]=paused&filter[campaign_id][]=${CAMPAIGN}`,
      )
    ).body
  expect((await series('spend')).points).toEqual([
    { date: ago(10), value: 10 },
    { date: ago(9), value: 0 },
  ])
  expect((await series('revenue')).points.map((point: { value: number }) => point.value)).toEqual([4, 6])
  expect((await series('payers')).points.map((point: { value: number }) => point.value)).toEqual([1, 1])
  expect((await series('users')).points.map((point: { value: number }) => point.value)).toEqual([1, 0])
  expect((await series('roas')).points.map((point: { value: number }) => point.value)).toEqual([0.4, null])
  expect((await series('avg_cpa')).filters_ignored).toEqual(['filter[status][]'])
  const long = (await get(`/v4/analytics/apple-ads/report/series?metric=spend&from=0&to=${second(ago(0))}`)).body
  expect([long.points.length, long.truncated, long.points[365].date]).toEqual([366, true, ago(1)])
})

test('money is converted at the rate of each day; without a rate it is in USD, or unknown', async () => {
  await api.pool.query(`insert into currency_rates values ('EUR', $1, 1), ('EUR', $2, 2)`, [ago(60), ago(20)])
  apple.state.currency = 'EUR'
  await connect(api, project, apple.settings)
  await connected(api, key)
  const of = (answer: { rows: { campaign_id: string; apple: { spend: number } }[] }) =>
    answer.rows.find(row => row.campaign_id === String(CAMPAIGN))!.apple.spend
  // 30 × 1 and 10 × 2.
  expect(of(await report())).toBe(50)
  const unavailable = await report('&currency=CHF')
  expect([unavailable.currency, unavailable.meta.rate_unavailable_for, of(unavailable)]).toEqual(['USD', 'CHF', 50])
  await api.pool.query('truncate currency_rates')
  const unknown = await report()
  expect(unknown.rows[0].apple.spend).toBeNull()
  expect(unknown.rows[0].roas).toBeNull()
  expect(unknown.partial_sources).toContainEqual({ source: 'apple', reason: 'currency_without_rate', from: ago(45), through: ago(1) })
})

test('all pages of lists and reports are read, and a later reading corrects the days', async () => {
  apple.state.pageSize = 1
  await connect(api, project, apple.settings)
  await connected(api, key)
  expect((await report()).total.apple).toMatchObject({ spend: 139.5, installs: 15 })
  apple.state.entities[0]!.days = { US: { [ago(3)]: { spend: '2', impressions: 1, taps: 1, installs: 1 } } }
  await readAgain(api, project)
  // The days before the last week are settled, and are not read again.
  await until('the days are read again', async () => {
    const { rows } = await report()
    return rows.find((one: { campaign_id: string }) => one.campaign_id === String(CAMPAIGN)).apple.spend === 42 || undefined
  })
  const { rows } = await api.pool.query(`select count(*)::int as open from due where kind = 'apple_ads' and environment = $1`, [
    project.production,
  ])
  expect(rows).toEqual([{ open: 1 }])
})

test('refused credentials are an error that new settings end; Apple that does not answer is asked again', async () => {
  apple.state.token = { status: 400 }
  // The service has a token for the other settings already.
  const id = await connect(api, project, { ...apple.settings, org_id: apple.org })
  expect(await connected(api, key, 'error')).toMatchObject({
    next_action: 'reconnect',
    reporting: { state: 'unavailable' },
    campaign_management: { reason_code: 'permissions_not_checked_yet' },
  })
  apple.state.token = { status: 200 }
  let failures = 2
  apple.state.instead = () =>
    failures-- > 0 ? { status: failures === 1 ? 503 : 429, headers: { 'retry-after': '1' }, body: {} } : undefined
  const body = { settings: apple.settings }
  expect((await api.call('PUT', `/v4/integrations/${id}/config`, { key, body })).status).toBe(200)
  expect(await connected(api, key)).toMatchObject({
    next_action: 'none',
    error: null,
    reporting: { state: 'ready', data_through: ago(1) },
    campaign_management: { state: 'ready', can_write: true, reason_code: null },
    orgs: [{ id: apple.org, name: 'Example', currency: 'USD', time_zone: 'America/New_York' }],
  })
  expect(failures).toBeLessThan(1)
  apple.state.roles = ['API Read Only']
  await api.call('PUT', `/v4/integrations/${id}/config`, { key, body: { settings: { ...apple.settings, org_id: '1' } } })
  expect(await connected(api, key, 'error')).toMatchObject({ next_action: 'grant_permissions' })
})

test('each environment has its own connection; without one, and after its deletion, it is 404', async () => {
  const id = await connect(api, project, apple.settings, project.sandbox)
  await connected(api, project.sandbox)
  for (const path of [
    'integrations/apple-ads/connection',
    `analytics/apple-ads/report?${RANGE}`,
    `analytics/apple-ads/report/series?metric=spend&${RANGE}`,
  ]) {
    expect((await get(`/v4/${path}`)).status).toBe(404)
    expect((await get(`/v4/${path}`, project.sandbox)).status).toBe(200)
  }
  expect((await api.call('DELETE', `/v4/integrations/${id}`, { key: project.sandbox })).status).toBe(204)
  expect((await get('/v4/integrations/apple-ads/connection', project.sandbox)).status).toBe(404)
})

test('a project has 30 reports and series a minute', async () => {
  await connect(api, project, apple.settings)
  const answers = await Promise.all(
    Array.from({ length: 33 }, (_, n) =>
      get(`/v4/analytics/apple-ads/report${n % 2 ? '/series' : ''}?${RANGE}${n % 2 ? '&metric=users' : ''}`),
    ),
  )
  const refused = answers.filter(({ status }) => status === 429)
  expect([refused.length, answers.filter(({ status }) => status === 200).length]).toEqual([3, 30])
  expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
})

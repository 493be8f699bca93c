// How the reports of Apple are read and kept: what fails, what moves meanwhile, and what is gone at Apple.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { until } from '../../harness/until.ts'
import { type AdsEntity, appleAdsServer } from '../../harness/vendors/apple-ads.ts'
import { type AppleAdsServer, ago, CAMPAIGN, connect, connected, entities, GROUP, KEYWORD, readAgain, second } from './fixture.ts'

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
  apple.state.entities = entities()
  apple.state.orgs = [Number(apple.org)]
  apple.state.pageSize = 1000
  apple.state.instead = () => undefined
})

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const report = async (level = 'campaigns'): Promise<any> => {
  const range = `from=${second(ago(45))}&to=${second(ago(0))}`
  return (await api.call('GET', `/v4/analytics/apple-ads/report?${range}&level=${level}`, { key })).body
}

/** The spend of a campaign on its days, as it is stored. */
const stored = async (campaign = CAMPAIGN) =>
  (
    await api.pool.query(
      `select s.date::text, s.country, s.spend::text from apple_ads_spend s join integrations i on i.number = s.integration
       where i.environment = $1 and s.level = 0 and s.campaign_id = $2 order by 1, 2`,
      [project.production, String(campaign)],
    )
  ).rows.map(({ date, country, spend }) => `${date} ${country} ${spend}`)

const rowsOf = (amount: unknown, currency: unknown = 'USD', more: object = {}) => ({
  data: {
    reportingDataResponse: {
      row: [
        {
          other: false,
          metadata: { campaignId: CAMPAIGN, campaignName: 'Brand', countryOrRegion: 'US' },
          granularity: [{ date: ago(3), impressions: 1, taps: 1, totalInstalls: 1, localSpend: { amount, currency }, ...more }],
        },
      ],
    },
  },
  pagination: { totalResults: 1 },
})

test.each<[string, unknown]>([
  ['an error', { data: null, error: { errors: [{ message: 'failed inside' }] } }],
  ['an error without a list', { data: { reportingDataResponse: { row: [] } }, error: { errors: {} } }],
  ['no rows', { data: { reportingDataResponse: {} }, error: null }],
  ['rows that are no list', { data: { reportingDataResponse: { row: {} } } }],
  ['an amount of another form', rowsOf('1e3')],
  ['no currency', rowsOf('1', null)],
  ['an amount that is no object', rowsOf('1', 'USD', { impressions: 0, taps: 0, totalInstalls: 0, localSpend: '1' })],
  ['a count of another form', rowsOf('1', 'USD', { taps: -1 })],
  ['a row of nothing', { data: { reportingDataResponse: { row: [{ metadata: {}, granularity: [] }] } } }],
])('a report with %s deletes no spend, and its days are read again', async (_, body) => {
  await connect(api, project, apple.settings)
  await connected(api, key)
  const before = await stored()
  expect(before).toHaveLength(3)
  await api.pool.query('delete from apple_ads_days where date < $1', [ago(5)])
  apple.state.instead = ({ path }) => (path.endsWith('/reports/campaigns') ? { status: 200, body } : undefined)
  await readAgain(api, project)
  expect(await connected(api, key, 'error')).toMatchObject({ next_action: 'wait', error: expect.stringContaining('Apple answered 200') })
  expect(await stored()).toEqual(before)
  apple.state.instead = () => undefined
  await connected(api, key)
  expect(await stored()).toEqual(before)
})

const OTHER = 555
const inOther = (): AdsEntity => ({ ...entities()[0]!, id: 99, campaign: 99, name: 'Other', org: OTHER })
const spendOf = async (id: number) =>
  (await report()).rows.find((row: { campaign_id: string }) => row.campaign_id === String(id))?.apple?.spend

test('the settled days of an organisation that is new to the credentials are read, too', async () => {
  apple.state.entities.push(inOther())
  await connect(api, project, apple.settings)
  await connected(api, key)
  expect(await spendOf(99)).toBeUndefined()
  apple.state.orgs.push(OTHER)
  // While the new one is not open, what is known of the others stays known.
  apple.state.instead = ({ headers }) => (headers['x-ap-context'] === `orgId=${OTHER}` ? { status: 403, body: {} } : undefined)
  await readAgain(api, project)
  await connected(api, key, 'error')
  expect([await spendOf(99), await spendOf(CAMPAIGN)]).toEqual([undefined, 40])
  apple.state.instead = () => undefined
  await readAgain(api, project)
  await until('all days are read', async () => ((await stored(99)).length === 3 && (await daysRead()) > 80) || undefined)
  // 30 of them 40 days ago.
  expect([await spendOf(99), await spendOf(CAMPAIGN)]).toEqual([40, 40])
})

test('after other settings all days are read anew, after another private key they are not', async () => {
  apple.state.entities.push(inOther())
  apple.state.orgs.push(OTHER)
  const own = { ...apple.settings, private_key: `${apple.settings.private_key}\n`, org_id: apple.org }
  const id = await connect(api, project, own)
  await connected(api, key)
  const put = async (settings: object) =>
    expect((await api.call('PUT', `/v4/integrations/${id}/config`, { key, body: { settings } })).status).toBe(200)
  apple.state.instead = () => ({ status: 503, body: {} })
  await put({ ...own, private_key: `${own.private_key}\n` })
  expect(await daysRead()).toBeGreaterThan(80)
  await put({ ...own, org_id: String(OTHER) })
  expect(await daysRead()).toBe(0)
  apple.state.instead = () => undefined
  await until('the other organisation is read', async () => (await stored(99)).length === 3 || undefined)
})

const daysRead = async () => {
  const { rows } = await api.pool.query<{ days: number }>(
    `select count(*)::int as days from apple_ads_days d join integrations i on i.number = d.integration where i.environment = $1`,
    [project.production],
  )
  return rows[0]!.days
}

test('what is not open of one organisation or campaign keeps nothing else from being read, and no day counts as read', async () => {
  apple.state.entities.push(inOther())
  apple.state.orgs = [OTHER, Number(apple.org)]
  apple.state.instead = ({ path, headers }) => {
    if (headers['x-ap-context'] === `orgId=${OTHER}`) return { status: 403, body: { error: { errors: [{ message: 'not yours' }] } } }
    return path.includes(`/campaigns/${CAMPAIGN}/`) && !path.includes('/reports/') ? { status: 404, body: {} } : undefined
  }
  apple.state.entities.push({ ...entities()[1]!, id: 78, campaign: 77, name: 'Group of the rivals' })
  await connect(api, project, apple.settings)
  expect(await connected(api, key, 'error')).toMatchObject({
    next_action: 'grant_permissions',
    error: 'not yours (and 1 more failures)',
    reporting: { data_through: null },
  })
  const spent = async () => {
    const { rows } = await api.pool.query(
      `select distinct s.level, s.id from apple_ads_spend s join integrations i on i.number = s.integration where i.environment = $1 order by 1, 2`,
      [project.production],
    )
    return rows.map(({ level, id }) => `${level} ${id}`)
  }
  expect(await spent()).toEqual([`0 ${CAMPAIGN}`, '0 77', '1 78'])
  expect(await daysRead()).toBe(0)
  apple.state.instead = () => undefined
  await readAgain(api, project)
  await connected(api, key)
  expect(await spent()).toEqual([`0 ${CAMPAIGN}`, '0 77', '0 99', `1 ${GROUP}`, '1 78', `2 ${KEYWORD}`])
})

test('a campaign that is removed at Apple, and has no ad groups any more, is no failure', async () => {
  apple.state.entities[0]!.deleted = true
  await connect(api, project, apple.settings)
  await connected(api, key)
  const { rows } = await report()
  expect(rows.find((row: { campaign_id: string }) => row.campaign_id === String(CAMPAIGN))).toMatchObject({
    status: 'removed',
    apple: { spend: 40 },
  })
})

test('what Apple knows no more is removed, and what it cost stays', async () => {
  apple.state.entities.push(inOther())
  apple.state.orgs.push(OTHER)
  await connect(api, project, apple.settings)
  await connected(api, key)
  const statuses = async (level: string) =>
    Object.fromEntries(
      (await report(level)).rows.map((row: Record<string, string>) => [row.keyword_id ?? row.ad_group_id ?? row.campaign_id, row.status]),
    )
  expect(await statuses('keywords')).toEqual({ [KEYWORD]: 'enabled' })
  const again = async (left: AdsEntity[]) => {
    apple.state.entities = left
    await api.pool.query('update apple_ads_connections set synced_at = null')
    await readAgain(api, project)
    await connected(api, key)
  }
  await again(apple.state.entities.filter(({ id }) => id !== KEYWORD))
  expect(await statuses('keywords')).toEqual({ [KEYWORD]: 'removed' })
  expect(await statuses('groups')).toEqual({ [GROUP]: 'enabled' })
  await again(apple.state.entities.filter(({ campaign }) => campaign !== CAMPAIGN))
  expect(await statuses('groups')).toEqual({ [GROUP]: 'removed' })
  expect(await statuses('campaigns')).toEqual({ [CAMPAIGN]: 'removed', 77: 'paused', 99: 'enabled' })
  const removed = (await report()).rows.find((row: { campaign_id: string }) => row.campaign_id === String(CAMPAIGN))
  expect(removed).toMatchObject({ delivery: 'not_running', apple: { spend: 40 } })
})

test('a report whose pages move while it is read counts every row once', async () => {
  apple.state.pageSize = 1
  let moves = 2
  apple.state.instead = ({ path, body }) => {
    const isLater = path.endsWith('/reports/campaigns') && JSON.parse(body.toString()).selector.pagination.offset > 0
    // Before all others, so the row of the page before is on this one, too.
    if (isLater && moves > 0) apple.state.entities.push({ ...entities()[3]!, id: 10 + moves, campaign: 10 + moves--, name: 'New' })
    return undefined
  }
  await connect(api, project, apple.settings)
  await connected(api, key)
  const { rows, total } = await report()
  expect(rows.map((row: { campaign_id: string }) => row.campaign_id).sort()).toEqual(['11', '12', String(CAMPAIGN), '77'])
  expect(total.apple).toMatchObject({ spend: 139.5 + 2 * 99.5 })
})

import type { TestApi, TestProjectKeys } from '../../harness/api.ts'
import { until } from '../../harness/until.ts'
import type { AdsDay, AdsEntity, AppleAdsServer } from '../../harness/vendors/apple-ads.ts'

export const DAY = 86_400
/** The date so many days before today. */
export const ago = (days: number): string => new Date((Math.floor(Date.now() / 1000 / DAY) - days) * DAY * 1000).toISOString().slice(0, 10)
export const second = (date: string): number => Date.parse(date) / 1000

export const CAMPAIGN = 542370539
export const GROUP = 542317095
export const KEYWORD = 87675432

const day = (spend: string, impressions: number, taps: number, installs: number): AdsDay => ({ spend, impressions, taps, installs })

/** A campaign with a group and a keyword, and one that is paused. Days before today: 40 and 10. */
export const entities = (): AdsEntity[] => {
  const days = (share: string, old: string) => ({
    US: { [ago(40)]: day(old, 1000, 100, 10), [ago(10)]: day(share, 500, 50, 4) },
    DE: { [ago(10)]: day('1.25', 100, 10, 1) },
  })
  const common = { campaign: CAMPAIGN, status: 'ENABLED', displayStatus: 'RUNNING' }
  return [
    { ...common, level: 'campaign', id: CAMPAIGN, name: 'Brand', budget: '20', days: days('8.75', '30') },
    { ...common, level: 'ad_group', id: GROUP, name: 'Exact words', bid: '1.5', days: days('8.75', '30') },
    {
      ...common,
      level: 'keyword',
      id: KEYWORD,
      name: 'perennial',
      group: GROUP,
      status: 'ACTIVE',
      matchType: 'EXACT',
      bid: '2',
      days: { US: { [ago(10)]: day('6', 400, 40, 3) } },
    },
    {
      level: 'campaign',
      id: 77,
      name: 'Rivals',
      campaign: 77,
      status: 'PAUSED',
      displayStatus: 'PAUSED',
      days: { US: { [ago(10)]: day('99.5', 9, 8, 0) } },
    },
  ]
}

export async function connect(
  api: TestApi,
  project: TestProjectKeys,
  settings: Record<string, unknown>,
  key = project.secret,
): Promise<string> {
  const made = await api.call('POST', '/v4/integrations', { key, body: { title: 'Ads', integration: 'searchads', target_platform: 'iOS' } })
  const { id } = made.body
  const put = await api.call('PUT', `/v4/integrations/${id}/config`, { key, body: { settings } })
  if (put.status !== 200) throw new Error(put.text)
  return id
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const connection = async (api: TestApi, key: string): Promise<any> =>
  (await api.call('GET', '/v4/integrations/apple-ads/connection', { key })).body

export const connected = (api: TestApi, key: string, status = 'connected') =>
  until(`Apple Ads is ${status}`, async () => {
    const now = await connection(api, key)
    return now.status === status ? now : undefined
  })

/** Makes the last run of the project's integrations due at once. */
export const readAgain = (api: TestApi, project: TestProjectKeys) =>
  api.pool.query(`update due set due_at = clock_timestamp(), lease_until = null where kind = 'apple_ads' and environment = $1`, [
    project.production,
  ])

export type User = { attribution?: Record<string, string>; created: number; paid?: [after: number, price: string][] }

let transactions = 0

/** A user who was created then, with the payments so many seconds later. */
export async function addUser(api: TestApi, key: string, { attribution, created, paid = [] }: User): Promise<string> {
  const iso = (at: number) => new Date(at * 1000).toISOString()
  const environment = key.startsWith('test_') ? 'sandbox' : 'prod'
  const good = async (path: string, body: object) => {
    const answer = await api.call('POST', path, { key, body })
    if (answer.status >= 300) throw new Error(answer.text)
    return answer.body
  }
  const { id } = await good('/v4/users', { environment, created_at: iso(created) })
  const seen = { event_id: `seen-${++transactions}`, event_name: 'app_opened', customer_uid: id, happened_at: iso(created + 1) }
  await good('/v4/events', { events: [{ ...seen, ...(attribution && { attribution }) }] })
  for (const [after, price] of paid) {
    const transaction = String(++transactions)
    await good(`/v4/users/${id}/purchases`, {
      price,
      currency: 'USD',
      purchased_at: iso(created + after),
      app_store_data: { transaction_id: transaction, original_transaction_id: transaction, product_id: 'com.example.coins' },
    })
  }
  return id
}

export type { AppleAdsServer }

// Requests as the SDK for iOS builds them (dictionaries of `QNRequestSerializer`, `QNUserInfo` and `QNAPIClient`), and how its mappers read answers.
import { expect } from 'vitest'
import type { SdkClient, SdkReply } from './client.ts'

export type IosOptions = { key: string; uid: string; sandbox?: boolean; trigger?: string; receipt?: string; platform?: string }
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

/** The language in the header is a code, the country is not: the SDK sends English names of both in the body. */
const iosHeaders = ({ key, trigger, platform = 'iOS' }: IosOptions, attempt = 1): Record<string, string> => ({
  'Content-Type': 'application/json; charset=utf-8',
  Authorization: `Bearer ${key}`,
  'User-locale': 'de',
  Platform: platform,
  'Platform-Version': '19.1',
  Source: 'iOS',
  'Source-Version': '6.13.1',
  'app-version': '2.1.4',
  country: 'Germany',
  Attempt: String(attempt),
  ...(trigger && { Trigger: trigger }),
})

const overallData = ({ receipt = '' }: IosOptions) => ({
  install_date: '1772355600',
  receipt,
  device: {
    os: 'iOS',
    os_version: '19.1',
    manufacturer: 'Apple',
    tracking_enabled: '1',
    advertiser_id: '00000000-0000-0000-0000-000000000000',
    app_version: '2.1.4',
    device_id: '26A85FA5-2B19-4DBA-B30B-94B13457382B',
    model: 'iPhone14,3',
    carrier: 'Telekom',
    locale: 'German',
    country: 'Germany',
    timezone: 'Europe/Berlin',
  },
})

const enriched = ({ key, uid, sandbox = false }: IosOptions, body: object) => ({
  ...body,
  access_token: key.replace(/^test_/, ''),
  q_uid: uid,
  client_uid: uid,
  version: '6.13.1',
  debug_mode: sandbox,
})

export type Transaction = { id: string; original?: string; product: string; screen?: string }

const purchaseOf = ({ id, original = '', product, screen }: Transaction) => ({
  product,
  currency: 'EUR',
  value: '9.99',
  transaction_id: id,
  original_transaction_id: original,
  period_unit: '2',
  period_number_of_units: '1',
  country: 'DEU',
  ...(screen && { context_keys: ['home'], screen_uid: screen }),
})

const offer = { value: '0', number_of_periods: '1', period_number_of_units: '1', period_unit: '0', payment_mode: '2' }

/** What the client of the SDK can send. */
export const ios = (call: SdkClient) => {
  const post = (path: string, options: IosOptions, body: object): Promise<SdkReply> =>
    call('POST', path, { headers: iosHeaders(options), body })
  return {
    init: (options: IosOptions) => post('/v1/user/init', { trigger: 'Init', ...options }, enriched(options, overallData(options))),
    /** StoreKit 1. */
    purchase: (options: IosOptions, transaction: Transaction) => {
      const body = { ...overallData(options), introductory_offer: offer, purchase: purchaseOf(transaction) }
      return post('/v1/user/purchase', { trigger: 'Purchase', ...options }, enriched(options, body))
    },
    /** StoreKit 2, where the app makes the purchase: the dictionaries of offers may be empty. */
    purchaseOfStoreKit2: (options: IosOptions, transaction: Transaction) => {
      const body = { ...overallData(options), promo_offer: {}, introductory_offer: { value: '9.99' }, purchase: purchaseOf(transaction) }
      return post('/v1/user/purchase', { trigger: 'HandleStoreKit2Transactions', ...options }, enriched(options, body))
    },
    eligibility: (options: IosOptions, products: { id: string; group?: string }[]) => {
      const local = products.map(({ id, group }) => ({ store_id: id, ...(group && { subscription_group_identifier: group }) }))
      return post('/v1/products/get', options, enriched(options, { ...overallData(options), products_local_data: local }))
    },
    /** Without `enriched`: the body has the two ids and nothing else. */
    identify: (options: IosOptions, identity_id: string) => post('/v2/identities', options, { anon_id: options.uid, identity_id }),
    user: (options: IosOptions) => call('GET', `/v2/users/${options.uid}`, { headers: iosHeaders(options) }),
    attribution: (options: IosOptions, provider: string, data: object, uid?: string) => {
      const { receipt: _receipt, ...d } = overallData(options)
      return post('/attribution', options, enriched(options, { d, provider_data: { provider, d: data, ...(uid && { uid }) } }))
    },
  }
}

/** An error is what has a dictionary `data` without a true `success`, or a dictionary `error`. 5xx and 401 to 403 are read no further. */
export function iosErrorOf({ status, body }: SdkReply): { code: number } | null {
  if (status >= 500 || [401, 402, 403].includes(status)) return { code: status }
  if (typeof body.data === 'object' && !Array.isArray(body.data)) return body.success ? null : { code: body.data.code }
  return typeof body.error === 'object' ? { code: body.error.code } : null
}

/** The mapper passes null through to the app, where Swift expects a text. */
function refuseNull(value: Json): void {
  if (value === null) throw new Error('there is null')
  if (typeof value === 'object') Object.values(value).forEach(refuseNull)
}

const TRANSACTION_TYPES = [
  'subscription_started',
  'subscription_renewed',
  'trial_started',
  'intro_started',
  'intro_renewed',
  'nonconsumable_purchase',
]

export function readIosLaunch(reply: SdkReply) {
  expect(iosErrorOf(reply), JSON.stringify(reply.body)).toBeNull()
  const { data } = reply.body
  refuseNull(data)
  for (const list of ['permissions', 'products', 'user_products', 'offerings']) expect(Array.isArray(data[list]), list).toBe(true)
  for (const one of data.permissions) {
    expect([-1, 0, 1, 2, 3]).toContain(one.renew_state)
    expect(['appstore', 'playstore', 'stripe', 'manual', 'unknown']).toContain(one.source)
    for (const transaction of one.store_transactions) expect(TRANSACTION_TYPES).toContain(transaction.type)
  }
  for (const one of data.products) expect([-1, 0, 1, 2, 3, 4, 5]).toContain(one.duration)
  const byId = (list: Json[]): Record<string, Json> => Object.fromEntries(list.map(one => [one.id, one]))
  return {
    uid: data.uid as string,
    products: byId(data.products),
    permissions: byId(data.permissions),
    userProducts: byId(data.user_products),
    main: data.offerings.find((one: Json) => one.tag === 1),
  }
}

// Requests as `io.qonversion:sdk` builds them (Retrofit and Moshi), and the rules by which it reads answers. Nulls are left out, as Moshi does it.
import { expect } from 'vitest'
import type { SdkClient, SdkReply } from './client.ts'

export type AndroidOptions = { key: string; uid: string; sandbox?: boolean; trigger?: string; attempt?: number }
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

export const androidHeaders = ({ key, uid, trigger, attempt }: AndroidOptions): Record<string, string> => ({
  'Content-Type': 'application/json',
  Authorization: `Bearer ${key}`,
  'app-version': '2.1.4',
  'User-Locale': 'de',
  Source: 'android',
  'Source-Version': '9.6.0',
  Platform: 'android',
  'Platform-Version': '15',
  'User-Id': uid,
  ...(trigger && { Trigger: trigger }),
  ...(attempt !== undefined && { Attempt: String(attempt) }),
})

export const ANDROID_DEVICE = {
  app_version: '2.1.4',
  carrier: 'Telekom',
  device_id: '6f2f1a7b0c9d8e7f',
  locale: 'de',
  manufacturer: 'Google',
  model: 'Pixel 9',
  os: 'Android',
  os_version: '15',
  timezone: 'Europe/Berlin',
  platform: 'android',
  country: 'DE',
  advertiser_id: '38400000-8cf0-11bd-b23e-10b96e40000d',
}

const requestData = ({ key, uid, sandbox = false }: AndroidOptions) => ({
  install_date: 1_772_355_600,
  device: ANDROID_DEVICE,
  version: '9.6.0',
  access_token: key.replace(/^test_/, ''),
  q_uid: uid,
  receipt: '',
  debug_mode: sandbox ? '1' : '0',
})

export type Inapp = {
  token: string
  order: string
  product: string
  productId?: string
  time?: number
  screen?: string
  contexts?: unknown
}

export const purchaseDetails = ({ token, order, product, productId = '', time = 1_772_355_600, screen, contexts }: Inapp) => ({
  purchase_token: token,
  purchase_time: time,
  transaction_id: order,
  original_transaction_id: order.replace(/\.{2}.*/, ''),
  product,
  product_id: productId,
  ...(screen && { context_keys: ['home'], screen_uid: screen }),
  ...(contexts !== undefined && { context_keys: contexts }),
})

/** What the repository of the SDK can send. */
export const android = (call: SdkClient) => {
  const post = (path: string, options: AndroidOptions, body: object): Promise<SdkReply> =>
    call('POST', path, { headers: androidHeaders(options), body })
  return {
    init: (options: AndroidOptions, purchases: Inapp[] = []) =>
      post(
        '/v1/user/init',
        { trigger: 'Init', ...options },
        {
          ...requestData(options),
          purchases: purchases.map(one => ({ purchase: purchaseDetails(one) })),
        },
      ),
    purchase: (options: AndroidOptions, purchase: Inapp) =>
      post(
        '/v1/user/purchase',
        { trigger: 'Purchase', attempt: 1, ...options },
        { ...requestData(options), purchase: purchaseDetails(purchase) },
      ),
    restore: (options: AndroidOptions, history: Pick<Inapp, 'token' | 'product' | 'time'>[]) =>
      post(
        '/v1/user/restore',
        { trigger: 'Restore', ...options },
        {
          ...requestData(options),
          history: history.map(({ token, product, time = 1_772_355_600 }) => ({ product, purchase_token: token, purchase_time: time })),
        },
      ),
    eligibility: (options: AndroidOptions, storeIds: string[]) =>
      post('/v1/products/get', options, { ...requestData(options), products_local_data: storeIds.map(store_id => ({ store_id })) }),
    identify: (options: AndroidOptions, identity_id: string) => post('/v2/identities', options, { anon_id: options.uid, identity_id }),
    attribution: (options: AndroidOptions, provider: string, data: object) =>
      post('/attribution', options, {
        d: { ...ANDROID_DEVICE, advertiser_id: undefined },
        v: '9.6.0',
        access_token: options.key,
        provider_data: { d: data, provider },
        client_uid: options.uid,
      }),
  }
}

const isText = (value: unknown) => typeof value === 'string'
const isSeconds = (value: unknown) => Number.isInteger(value) && Math.abs(value as number) < 1e11
/** Of Kotlin's `Int`. */
const isInt = (value: unknown) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31

type Rule = [field: string, holds: (value: unknown) => boolean, isRequired: boolean]

/** What generated adapters of Moshi demand: a required field is there and no field of another type; null only where the type allows it. */
function read(of: Json, rules: Rule[], what: string): void {
  expect(typeof of, what).toBe('object')
  for (const [field, holds, isRequired] of rules) {
    const value = of[field]
    if (value === undefined) expect(isRequired, `${what}.${field} is missing`).toBe(false)
    else expect(holds(value), `${what}.${field} is ${JSON.stringify(value)}`).toBe(true)
  }
}

const listOf = (rule: (value: Json) => void) => (value: unknown) => {
  if (!Array.isArray(value)) return false
  value.forEach(rule)
  return true
}

const product = (value: Json) =>
  read(
    value,
    [
      ['id', isText, true],
      ['store_id', isText, false],
      ['base_plan_id', isText, false],
      ['type', isInt, false],
    ],
    'product',
  )

const transaction = (value: Json) =>
  read(
    value,
    [
      ['original_transaction_id', isText, true],
      ['transaction_id', isText, true],
      ['offer_code', isText, false],
      ['transaction_timestamp', isSeconds, true],
      ['expiration_timestamp', isSeconds, false],
      ['transaction_revoke_timestamp', isSeconds, false],
      ['ownership_type', one => one === 'owner' || one === 'family_sharing', true],
      [
        'type',
        one => /^(subscription_(started|renewed)|trial_started|intro_(started|renewed)|non_consumable_purchase)$/.test(String(one)),
        true,
      ],
      ['environment', one => one === 'sandbox' || one === 'production', true],
    ],
    'transaction',
  )

const permission = (value: Json) =>
  read(
    value,
    [
      ['id', isText, true],
      ['associated_product', isText, true],
      ['renew_state', one => [-1, 0, 1, 2, 3].includes(one as number), true],
      ['started_timestamp', isSeconds, true],
      ['expiration_timestamp', isSeconds, false],
      ['source', one => /^(unknown|appstore|playstore|stripe|manual)$/.test(String(one)), false],
      ['active', one => one === 0 || one === 1, true],
      ['renews_count', isInt, false],
      ['trial_start_timestamp', isSeconds, false],
      ['first_purchase_timestamp', isSeconds, false],
      ['last_purchase_timestamp', isSeconds, false],
      ['last_activated_offer_code', isText, false],
      ['grant_type', one => /^(purchase|family_sharing|manual)$/.test(String(one)), false],
      ['auto_renew_disable_timestamp', isSeconds, false],
      ['store_transactions', listOf(transaction), false],
    ],
    'permission',
  )

const offering = (value: Json) =>
  read(
    value,
    [
      ['id', isText, true],
      ['tag', one => one === 0 || one === 1, true],
      ['products', listOf(product), false],
    ],
    'offering',
  )

/** The launch result, as the SDK has it after parsing: by the ids. Fails where Moshi would throw. */
export function readAndroidLaunch({ status, body }: SdkReply) {
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body.success).toBe(true)
  const relations = (value: unknown) => Object.values(value as object).every(ids => Array.isArray(ids) && ids.every(isText))
  read(
    body.data,
    [
      ['uid', isText, true],
      ['timestamp', isSeconds, true],
      ['products', listOf(product), false],
      ['permissions', listOf(permission), false],
      ['user_products', listOf(product), false],
      ['offerings', listOf(offering), true],
      ['products_permissions', relations, false],
    ],
    'data',
  )
  const byId = (list: Json[]): Record<string, Json> => Object.fromEntries(list.map(one => [one.id, one]))
  const { uid, products, permissions, user_products, offerings } = body.data
  return {
    uid: uid as string,
    products: byId(products),
    permissions: byId(permissions),
    userProducts: byId(user_products),
    main: offerings.find((one: Json) => one.tag === 1),
  }
}

/** The code by which the SDK knows an error of an address without `/v2`; the SDK stops for good after 401, 402 and 403. */
export function readAndroidError({ status, body }: SdkReply): [number, number] {
  expect([402, 403]).not.toContain(status)
  expect(isInt(body.data.code) && isText(body.data.message)).toBe(true)
  return [status, body.data.code]
}

// Entitlements as mobile SDKs read them, beside the same entitlements in v3: one fold answers both.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { v3Client } from '../harness/v3.ts'
import { android, readAndroidLaunch } from './android.ts'
import { newUid, sdkClient } from './client.ts'
import { ios, readIosLaunch } from './ios.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  const links = { apple_product_id: 'm', google_product_id: 'm', stripe_product_id: 'm', paddle_product_id: 'm' }
  await product(api, { id: 'monthly', ...links })
  const oneTime = { apple_product_id: 'l', google_product_id: 'l', duration: undefined }
  await product(api, { ...oneTime, id: 'forever', type: 'lifetime' })
  for (const [id, products] of Object.entries({ pro: ['monthly'], all: ['monthly', 'forever'], ads: ['forever'], gift: [] }))
    expect((await api.call('POST', '/v4/entitlements', { body: { id, product_ids: products } })).status).toBe(201)
})
afterAll(() => api.stop())

const DAY = 86_400_000
const at = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * DAY).toISOString()
type Given = Record<string, unknown>

const apple = (given: Given, lineage: string) => ({
  ...given,
  app_store_data: { transaction_id: unique('t'), original_transaction_id: lineage, product_id: 'm' },
})

/** Types of the transactions in the words of iOS, renewals, and how it was granted. */
type Expected = [types: string[], renewals: number, grant: string]

/** By name: the purchases of a user, in the fields of v4, and what an SDK reads besides what v3 tells. */
const STORIES: Record<string, [purchases: () => Given[], expected: Expected]> = {
  'a trial that became paid, and renewed': [
    () => {
      const lineage = unique('o')
      return [
        apple({ purchased_at: at(-70), expires_at: at(-40), price: '0' }, lineage),
        apple({ purchased_at: at(-40), expires_at: at(-10) }, lineage),
        apple({ purchased_at: at(-10), expires_at: at(20) }, lineage),
      ]
    },
    [['trial_started', 'subscription_started', 'subscription_renewed'], 1, 'purchase'],
  ],
  'an introductory price': [
    () => {
      const lineage = unique('o')
      return [
        apple({ purchased_at: at(-40), expires_at: at(-10), price: '1.99', period_type: 'intro' }, lineage),
        apple({ purchased_at: at(-10), expires_at: at(20) }, lineage),
      ]
    },
    [['intro_started', 'subscription_renewed'], 1, 'purchase'],
  ],
  'canceled, and shared with the family': [
    () => [apple({ purchased_at: at(-10), expires_at: at(20), is_auto_renewing: false, is_family_shared: true }, unique('o'))],
    [['subscription_started'], 0, 'family_sharing'],
  ],
  lapsed: [
    () => [apple({ purchased_at: at(-70), expires_at: at(-40), is_auto_renewing: false }, unique('o'))],
    [['subscription_started'], 0, 'purchase'],
  ],
  'of Google, Stripe and Paddle': [
    () => [
      {
        purchased_at: at(-5),
        expires_at: at(25),
        play_store_data: { purchase_token: unique('p'), product_id: 'm', order_id: 'GPA.5..3' },
      },
      { purchased_at: at(-4), expires_at: at(26), stripe_store_data: { subscription_id: unique('s'), product_id: 'm' } },
      {
        purchased_at: at(-3),
        expires_at: at(27),
        paddle_store_data: { transaction_id: unique('x'), product_id: 'm', type: 'subscription', subscription_id: unique('s') },
      },
    ],
    [['subscription_started', 'subscription_started', 'subscription_started'], 0, 'purchase'],
  ],
  'for ever, beside a subscription': [
    () => [
      { purchased_at: at(-50), app_store_data: { transaction_id: unique('t'), product_id: 'l' } },
      apple({ purchased_at: at(-10), expires_at: at(20) }, unique('o')),
    ],
    [['nonconsumable_purchase', 'subscription_started'], 0, 'purchase'],
  ],
}

const RENEW_STATE: Record<string, number> = { will_renew: 1, canceled: 2, billing_issue: 3, non_renewable: -1 }

test.each(Object.keys(STORIES))('%s: the same as v3, field by field', async name => {
  const uid = newUid()
  const options = { key: api.project.projectKey, uid }
  readAndroidLaunch(await android(sdkClient(api)).init(options))
  const [purchases, expected] = STORIES[name]!
  for (const given of purchases()) {
    const made = await purchaseOf(api, uid, given)
    expect(made.status, made.text).toBe(201)
  }
  await api.call('POST', `/v4/users/${uid}/entitlements`, { body: { entitlement_id: 'gift', expires_at: at(3) } })
  const { data } = (await v3Client(api)('GET', `/v3/users/${uid}/entitlements`)).body
  const [onAndroid, onIos] = [
    readAndroidLaunch(await android(sdkClient(api)).init(options)),
    readIosLaunch(await ios(sdkClient(api)).init(options)),
  ]
  for (const { permissions } of [onAndroid, onIos]) {
    expect(Object.keys(permissions)).toEqual(data.map(({ id }: { id: string }) => id))
    for (const { id, active, started, source, product: given } of data)
      expect(permissions[id]).toMatchObject({
        id,
        active: active ? 1 : 0,
        started_timestamp: started,
        source: source === 'paddle' ? 'unknown' : source,
        associated_product: given?.product_id ?? '',
        renew_state: given?.subscription ? RENEW_STATE[given.subscription.renew_state] : -1,
      })
    for (const { id, expires } of data) expect(permissions[id].expiration_timestamp).toBe(expires)
  }
  const typesOf = ({ permissions }: typeof onIos, id: string) =>
    permissions[id]?.store_transactions.map(({ type }: { type: string }) => type.replace('non_consumable', 'nonconsumable'))
  expect(typesOf(onAndroid, 'all')).toEqual(typesOf(onIos, 'all'))
  expect([typesOf(onIos, 'all'), onIos.permissions.all.renews_count, onIos.permissions.all.grant_type]).toEqual(expected)
})

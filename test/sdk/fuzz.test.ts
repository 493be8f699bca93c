// For any input: an answer in the shape of the mobile SDKs, never a 5xx, and never one that ends the session of an SDK.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions, validateError } from '../../schemas/generated/sdk/operations.ts'
import { bodyChanges, RAW } from '../contract/nasty.ts'
import { runs } from '../contract/seed.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { product } from '../harness/purchases.ts'
import { appReceipt } from '../harness/stores/app-receipt.ts'
import { ANDROID_DEVICE, androidHeaders, purchaseDetails } from './android.ts'
import { newUid, type SdkClient, type SdkReply, sdkClient } from './client.ts'

const RUNS = 60
const UID = newUid()

let api: TestApi
let call: SdkClient
beforeAll(async () => {
  api = await startApi()
  call = sdkClient(api)
  await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'm' }, api.project.sandbox)
})
afterAll(() => api.stop())

const headers = () => androidHeaders({ key: `test_${api.project.projectKey}`, uid: UID })
const common = {
  q_uid: UID,
  device: ANDROID_DEVICE,
  install_date: '1772355600',
  version: '9.6.0',
  receipt: appReceipt(['2000000123456789']),
}
const purchase = purchaseDetails({ token: 'token', order: 'GPA.1', product: 'm', screen: 'paywall' })
const apple = { product: 'm', transaction_id: '7', original_transaction_id: '', currency: 'EUR', value: '9.99', country: 'DEU' }

const BODIES: Record<string, object[]> = {
  sdkInitUser: [{ ...common, purchases: [{ purchase }] }],
  sdkCreatePurchase: [
    { ...common, purchase },
    { ...common, purchase: apple },
  ],
  sdkRestorePurchases: [{ ...common, history: [{ product: 'm', purchase_token: 'token', purchase_time: 1_772_355_600 }] }],
  sdkListEligibility: [{ ...common, products_local_data: [{ store_id: 'm', subscription_group_identifier: '2' }] }],
  sdkIdentifyUser: [{ anon_id: UID, identity_id: 'ada' }],
  sdkCreateAttribution: [
    { ...common, provider_data: { provider: 'appsflyer', d: { media_source: 'x', campaign: 'y' }, uid: 'z' } },
    {
      ...common,
      provider_data: { provider: 'apple_search_ads', d: { 'Version3.1': { 'iad-attribution': 'true', 'iad-campaign-name': 'c' } } },
    },
  ],
  sdkCreateEvent: [{ user: UID, event: 'opened', payload: { a: 1, b: 'x' } }],
}
const withBody = descriptions.filter(({ body }) => body)

function check({ status, text, body }: SdkReply): void {
  if (status >= 500 || [401, 402, 403].includes(status)) throw new Error(`${status} ${text}`)
  if (status >= 400 && !validateError(body)) throw new Error(`no error of the SDKs: ${status} ${text}`)
}

test('every operation with a body has one here', () => {
  expect(Object.keys(BODIES).sort()).toEqual(withBody.map(({ id }) => id).sort())
})

describe.each(withBody)('$id', ({ id, path }) => {
  test('with a body that was changed', async () => {
    for (const sent of BODIES[id]!)
      await fc.assert(
        fc.asyncProperty(bodyChanges, async changes => {
          const body = JSON.parse(JSON.stringify(changes.apply(sent) ?? null))
          check(await call('POST', path, { headers: headers(), body }))
        }),
        runs(RUNS),
      )
  })

  test('with something else than JSON', async () => {
    for (const { raw, type = 'application/json' } of RAW)
      check(await call('POST', path, { headers: { ...headers(), 'Content-Type': type }, raw: raw as string }))
  })
})

test('with any text as receipt', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.base64String(), fc.string(), fc.constant(appReceipt(['1'], 'streamed').slice(0, 90))), async receipt => {
      const reply = await call('POST', '/v1/user/init', { headers: { ...headers(), Platform: 'iOS' }, body: { q_uid: UID, receipt } })
      check(reply)
      expect(reply.status).toBe(200)
    }),
    runs(RUNS),
  )
})

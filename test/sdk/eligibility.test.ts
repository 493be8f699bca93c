// Who may have an introductory price, with stores that answer; and the event of old versions.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { appleSubscription, MONTHLY, YEARLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { android, androidHeaders, readAndroidLaunch } from './android.ts'
import { newUid, type SdkReply, sdkClient } from './client.ts'
import { ios, readIosLaunch } from './ios.ts'

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const DAY_MS = 86_400_000
const promo = (id: string, links: object) =>
  stores.good('POST', '/v4/products', { id, type: 'subscription_with_promo', duration: 'P1M', ...links })
const statuses = ({ body }: SdkReply): Record<string, string> =>
  Object.fromEntries(
    body.data.products_enriched.map((one: { product: { id: string }; intro_eligibility_status: string }) => [
      one.product.id,
      one.intro_eligibility_status,
    ]),
  )

test('iOS: a trial of one product uses up those of its group; without the store it is unknown', async () => {
  await promo('monthly', { apple_product_id: MONTHLY })
  await promo('yearly', { apple_product_id: YEARLY })
  await promo('other', { apple_product_id: 'com.example.other' })
  const sdk = ios(sdkClient(stores.api))
  const options = { key: stores.project.projectKey, uid: newUid() }
  const asked = [
    { id: MONTHLY, group: '1' },
    { id: YEARLY, group: '1' },
    { id: 'com.example.other', group: '2' },
  ]
  expect(statuses(await sdk.eligibility(options, asked))).toEqual({ monthly: 'unknown', yearly: 'unknown', other: 'unknown' })
  await stores.connectApple()
  const eligible = 'intro_or_trial_eligible'
  expect(statuses(await sdk.eligibility(options, asked))).toEqual({ monthly: eligible, yearly: eligible, other: eligible })
  const subscription = appleSubscription(stores.chain)
  subscription.startTrial(Date.now() - DAY_MS)
  stores.apple.production.lineages.push({ ...subscription.state, group: subscription.lineage })
  readIosLaunch(await sdk.purchase(options, { id: subscription.lineage, product: MONTHLY }))
  const used = 'intro_or_trial_ineligible'
  expect(statuses(await sdk.eligibility(options, asked))).toEqual({ monthly: used, yearly: used, other: eligible })
})

test('Android: a trial uses up that of its product', async () => {
  await promo('pro', { google_product_id: 'pro' })
  await promo('max', { google_product_id: 'max' })
  await stores.connectGoogle()
  const sdk = android(sdkClient(stores.api))
  const options = { key: stores.project.projectKey, uid: newUid() }
  const at = Math.floor(Date.now() / 1000) * 1000 - DAY_MS
  playStory(stores.google, { token: 'tried', order: 'GPA.20', trialDays: 7 }).subscribe(at)
  readAndroidLaunch(await sdk.purchase(options, { token: 'tried', order: 'GPA.20', product: 'pro', time: at / 1000 }))
  expect(statuses(await sdk.eligibility(options, ['pro', 'max']))).toEqual({
    pro: 'intro_or_trial_ineligible',
    max: 'intro_or_trial_eligible',
  })
})

test('an event that is sent twice is stored once, without money', async () => {
  const uid = newUid()
  const call = sdkClient(stores.api)
  const body = { user: uid, event: 'experiment_started', payload: { experiment_id: 'e1', group_id: 0, price: 5, deep: {} } }
  for (let i = 0; i < 2; i++) {
    const reply = await call('POST', '/v2/events', { headers: androidHeaders({ key: stores.project.projectKey, uid: '' }), body })
    expect([reply.status, reply.body]).toEqual([200, { success: true, data: {} }])
  }
  const { rows } = await stores.api.pool.query('select name, properties from events where user_id = $1', [uid])
  expect(rows).toEqual([{ name: 'experiment_started', properties: { experiment_id: 'e1', group_id: 0 } }])
})

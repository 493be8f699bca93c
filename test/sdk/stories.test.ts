// The life of apps with an SDK, with stores that answer.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTH_MS, MONTHLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { openShop } from '../harness/stores/sale.ts'
import { type AndroidOptions, android, readAndroidError, readAndroidLaunch } from './android.ts'
import { newUid, sdkClient } from './client.ts'
import { type IosOptions, ios, readIosLaunch } from './ios.ts'
import { webSuite } from './web-suite.ts'

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

const DAY_MS = 86_400_000
const whole = (ms: number) => Math.floor(ms / 1000) * 1000
const call = () => sdkClient(stores.api)
const phone = (given: Partial<IosOptions> = {}): IosOptions => ({ key: stores.project.projectKey, uid: newUid(), ...given })
const pixel = (given: Partial<AndroidOptions> = {}): AndroidOptions => ({ key: stores.project.projectKey, uid: newUid(), ...given })
const policy = (name: string) => stores.api.pool.query('update projects set transfer_policy = $2 where id = $1', [stores.project.id, name])

function soldByApple(environment: 'Production' | 'Sandbox' = 'Production') {
  const subscription = appleSubscription(stores.chain, { environment })
  const world = environment === 'Production' ? stores.apple.production : stores.apple.sandbox
  world.lineages.push(Object.assign(subscription.state, { group: subscription.lineage }))
  return subscription
}

test('iOS: install, launch, buy, renew by a notification, and a refund', async () => {
  await openShop(stores, 'apple')
  const sdk = ios(call())
  const options = phone()
  expect(readIosLaunch(await sdk.init(options))).toMatchObject({
    uid: options.uid,
    permissions: {},
    products: { plan: { store_id: MONTHLY } },
  })
  const subscription = soldByApple()
  const at = whole(Date.now()) - MONTH_MS + DAY_MS
  subscription.startTrial(at - MONTH_MS)
  const bought = readIosLaunch(await sdk.purchase(options, { id: subscription.lineage, product: MONTHLY }))
  expect(bought.permissions.premium).toMatchObject({
    renews_count: 0,
    trial_start_timestamp: (at - MONTH_MS) / 1000,
    store_transactions: [{ type: 'trial_started' }],
  })
  await stores.pushApple(subscription.renew(at))
  await stores.settled()
  const renewed = readIosLaunch(await sdk.init(options)).permissions.premium
  expect(renewed).toMatchObject({
    active: 1,
    associated_product: 'plan',
    renew_state: 1,
    started_timestamp: (at - MONTH_MS) / 1000,
    expiration_timestamp: (at + MONTH_MS) / 1000,
    source: 'appstore',
    renews_count: 0,
    first_purchase_timestamp: (at - MONTH_MS) / 1000,
    last_purchase_timestamp: at / 1000,
    grant_type: 'purchase',
  })
  expect(renewed.store_transactions).toMatchObject([
    { type: 'trial_started', transaction_id: subscription.lineage },
    { type: 'subscription_started', original_transaction_id: subscription.lineage, environment: 'production', ownership_type: 'owner' },
  ])
  await stores.pushApple(subscription.switchAutoRenew(Date.now(), false))
  await stores.settled()
  expect(readIosLaunch(await sdk.init(options)).permissions.premium).toMatchObject({
    active: 1,
    renew_state: 2,
    auto_renew_disable_timestamp: expect.any(Number),
  })
  await stores.pushApple(subscription.refund(Date.now()))
  await stores.settled()
  const refunded = readIosLaunch(await sdk.init(options)).permissions.premium
  expect(refunded.active).toBe(0)
  expect(refunded.store_transactions[1].transaction_revoke_timestamp).toEqual(expect.any(Number))
})

test('Android: bought offline, told by the launch; while Google gives no answer the SDK must come back with it', async () => {
  await openShop(stores, 'google')
  const sdk = android(call())
  const options = pixel()
  const at = whole(Date.now()) - DAY_MS
  playStory(stores.google, { token: 'offline', order: 'GPA.7' }).subscribe(at)
  const bought = [{ token: 'offline', order: 'GPA.7', product: 'pro', time: at / 1000 }]
  stores.google.instead = () => ({ status: 500, body: {} })
  expect(readAndroidError(await sdk.init(options, bought))).toEqual([502, 20006])
  stores.google.instead = () => undefined
  for (let i = 0; i < 2; i++)
    expect(readAndroidLaunch(await sdk.init(options, bought)).permissions).toMatchObject({
      premium: { active: 1, source: 'playstore', store_transactions: [{ transaction_id: 'GPA.7', original_transaction_id: 'GPA.7' }] },
    })
  // The price of the store, where the app tells none.
  expect(await stores.purchases()).toMatchObject([{ user: options.uid, price: '9.99' }])
})

test.each([
  ['keep', 0],
  ['transfer', 1],
  ['share', 1],
] as const)('Android: reinstall and restore under the policy %s; what is not the user´s is left out', async (name, active) => {
  await openShop(stores, 'google')
  await policy(name)
  const sdk = android(call())
  const [before, after] = [pixel(), pixel()]
  const at = whole(Date.now()) - DAY_MS
  playStory(stores.google, { token: 'mine', order: 'GPA.8' }).subscribe(at)
  readAndroidLaunch(await sdk.purchase(before, { token: 'mine', order: 'GPA.8', product: 'pro', time: at / 1000 }))
  const history = [
    { token: 'mine', product: 'pro' },
    { token: 'unknown', product: 'pro' },
  ]
  for (let i = 0; i < 2; i++) expect(readAndroidLaunch(await sdk.restore(after, history)).permissions.premium?.active ?? 0).toBe(active)
})

describe('identify on a second device', () => {
  test.each([
    ['keep', 0],
    ['transfer', 1],
  ] as const)('under the policy %s', async (name, moved) => {
    await openShop(stores, 'google')
    await policy(name)
    const sdk = android(call())
    const [first, second] = [pixel(), pixel()]
    for (const one of [first, second]) readAndroidLaunch(await sdk.init(one))
    expect((await sdk.identify(first, 'ada')).body.data.anon_id).toBe(first.uid)
    const at = whole(Date.now()) - DAY_MS
    playStory(stores.google, { token: 'second', order: 'GPA.9' }).subscribe(at)
    readAndroidLaunch(await sdk.purchase(second, { token: 'second', order: 'GPA.9', product: 'pro', time: at / 1000 }))
    for (let i = 0; i < 2; i++) {
      const identified = await sdk.identify(second, 'ada')
      expect([identified.status, identified.body]).toEqual([200, { success: true, data: { anon_id: first.uid } }])
      expect(readAndroidLaunch(await sdk.init(first)).permissions.premium?.active ?? 0).toBe(moved)
      expect(readAndroidLaunch(await sdk.init(second)).permissions.premium?.active ?? 0).toBe(1 - moved)
    }
  })

  test('purchases of a user who has an identity do not go over, and after a logout another person gets a user of his own', async () => {
    await openShop(stores, 'google')
    await policy('transfer')
    const sdk = android(call())
    const [ada, ben] = [pixel(), pixel()]
    await sdk.identify(ada, 'ada')
    await sdk.identify(ben, 'ben')
    const at = whole(Date.now()) - DAY_MS
    playStory(stores.google, { token: 'bens', order: 'GPA.10' }).subscribe(at)
    readAndroidLaunch(await sdk.purchase(ben, { token: 'bens', order: 'GPA.10', product: 'pro', time: at / 1000 }))
    expect((await sdk.identify(ben, 'ada')).body.data.anon_id).toBe(ada.uid)
    expect(readAndroidLaunch(await sdk.init(ben)).permissions.premium.active).toBe(1)
    const answers = await Promise.all(Array.from({ length: 5 }, () => sdk.identify(ben, 'cem')))
    const ids = new Set(answers.map(({ body }) => body.data.anon_id))
    expect(ids.size).toBe(1)
    expect([...ids][0]).not.toBe(ben.uid)
  })

  test('ten devices with one new identity at a time: one user has it, and all go on with that user', async () => {
    const sdk = android(call())
    const answers = await Promise.all(Array.from({ length: 10 }, () => sdk.identify(pixel(), 'eve')))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.data.anon_id}`)).size).toBe(1)
  })
})

test('a grant by hand is shown by the next launch', async () => {
  await openShop(stores, 'apple')
  const options = phone()
  const sdk = ios(call())
  readIosLaunch(await sdk.init(options))
  await stores.good('POST', `/v4/users/${options.uid}/entitlements`, { entitlement_id: 'premium' })
  expect(readIosLaunch(await sdk.init(options)).permissions.premium).toEqual({
    id: 'premium',
    associated_product: '',
    active: 1,
    renew_state: -1,
    started_timestamp: expect.any(Number),
    source: 'manual',
    renews_count: 0,
    grant_type: 'manual',
    store_transactions: [],
  })
})

test('App Review: a purchase of the sandbox with the key of production gives access for a day', async () => {
  await openShop(stores, 'apple')
  const subscription = soldByApple('Sandbox')
  subscription.subscribe(Date.now() - 60_000)
  const launch = readIosLaunch(await ios(call()).purchase(phone(), { id: subscription.lineage, product: MONTHLY }))
  expect(launch.permissions.premium).toMatchObject({ active: 1, source: 'manual' })
  expect(await stores.purchases()).toEqual([])
})

test('three first launches at once make one user, and a purchase may come before the first launch', async () => {
  await openShop(stores, 'apple')
  const sdk = ios(call())
  const options = phone()
  for (const reply of await Promise.all([1, 2, 3].map(() => sdk.init(options)))) expect(readIosLaunch(reply).uid).toBe(options.uid)
  const { rows } = await stores.api.pool.query('select environment from users where id = $1', [options.uid])
  expect(rows).toEqual([{ environment: stores.project.production }])
  const subscription = soldByApple()
  subscription.subscribe(Date.now() - DAY_MS)
  const bought = readIosLaunch(await sdk.purchase(phone(), { id: subscription.lineage, product: MONTHLY }))
  expect(bought.permissions.premium.active).toBe(1)
})

describe('the web SDK', () => webSuite(() => stores))

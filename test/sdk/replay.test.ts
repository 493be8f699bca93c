// Every request of the mobile SDKs in the shape of their serializers, and every answer read by the rules of their parsers. No store is connected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { android, readAndroidLaunch } from './android.ts'
import { newUid, type SdkClient, sdkClient } from './client.ts'
import { ios, iosErrorOf, readIosLaunch } from './ios.ts'

let api: TestApi
let call: SdkClient
let key: string
beforeAll(async () => {
  api = await startApi()
  call = sdkClient(api)
  key = `test_${api.project.projectKey}`
  const sandbox = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'apple.monthly', google_product_id: 'pro', google_base_plan_id: 'p1m' }, sandbox)
  const annual = {
    id: 'annual',
    type: 'subscription_with_promo',
    duration: 'P1Y',
    apple_product_id: 'apple.annual',
    google_product_id: 'year',
  }
  await product(api, annual, sandbox)
  const oneTime = { duration: undefined, apple_product_id: 'apple.ads', google_product_id: 'no_ads' }
  await product(api, { ...oneTime, id: 'ads', type: 'lifetime' }, sandbox)
  await product(api, { id: 'coins', type: 'consumable', duration: undefined, google_product_id: 'coins' }, sandbox)
  const create = async (path: string, body: object) => expect((await api.call('POST', path, { key: sandbox, body })).status).toBe(201)
  await create('/v4/entitlements', { id: 'premium', product_ids: ['monthly', 'annual'] })
  await create('/v4/entitlements', { id: 'noAds', product_ids: ['ads'] })
  await create('/v4/offerings', { id: 'main', product_ids: ['annual', 'monthly'] })
  await create('/v4/offerings', { id: 'other', product_ids: ['coins'] })
})
afterAll(() => api.stop())

const purchasesOf = async (user: string) =>
  (
    await api.pool.query<Record<string, unknown>>(
      `select store_product_id as product, base_plan_id as plan, order_id as "order", transaction_id as transaction, price, currency, period_type,
         screen_id as screen, country, extract(epoch from purchased_at)::int as at from purchases where user_id = $1 order by id`,
      [user],
    )
  ).rows

describe('Android', () => {
  const sdk = () => android(call)

  test('init creates the user, stores the device, and has everything that the project sells', async () => {
    const uid = newUid()
    const launch = readAndroidLaunch(await sdk().init({ key, uid, sandbox: true }))
    expect(launch).toMatchObject({ uid, permissions: {}, userProducts: {} })
    expect(launch.products).toEqual({
      monthly: { id: 'monthly', store_id: 'pro', base_plan_id: 'p1m', type: 1, duration: 1 },
      annual: { id: 'annual', store_id: 'year', type: 0, duration: 4 },
      // Type 3 is not consumed by the SDK, type 2 is.
      ads: { id: 'ads', store_id: 'no_ads', type: 3, duration: 5 },
      coins: { id: 'coins', store_id: 'coins', type: 2, duration: -1 },
    })
    expect(launch.main).toMatchObject({ id: 'main', products: [{ id: 'annual' }, { id: 'monthly' }] })
    const { rows } = await api.pool.query(
      `select environment, platform, device_id, device_model, advertiser_id, os_version, locale, country, app_version, sdk_version from users where id = $1`,
      [uid],
    )
    expect(rows).toEqual([
      {
        environment: api.project.sandboxEnvironment,
        platform: 'Android',
        device_id: '6f2f1a7b0c9d8e7f',
        device_model: 'Pixel 9',
        advertiser_id: '38400000-8cf0-11bd-b23e-10b96e40000d',
        os_version: '15',
        locale: 'de',
        country: 'DE',
        app_version: '2.1.4',
        sdk_version: '9.6.0',
      },
    ])
  })

  test('purchase, twice and without a price: once, no trial, with the plan of the product that the app names', async () => {
    const uid = newUid()
    const bought = {
      token: unique('token'),
      order: 'GPA.1-2-3',
      product: 'pro',
      productId: 'monthly',
      time: Math.floor(Date.now() / 1000),
      screen: 'paywall',
    }
    for (let i = 0; i < 2; i++) {
      const launch = readAndroidLaunch(await sdk().purchase({ key, uid, sandbox: true, attempt: i + 1 }, bought))
      expect(launch.permissions).toMatchObject({
        premium: { active: 1, associated_product: 'monthly', renew_state: 1, source: 'playstore' },
      })
      expect(launch.permissions.premium.store_transactions).toEqual([
        {
          original_transaction_id: 'GPA.1-2-3',
          transaction_id: 'GPA.1-2-3',
          transaction_timestamp: bought.time,
          expiration_timestamp: expect.any(Number),
          environment: 'sandbox',
          ownership_type: 'owner',
          type: 'subscription_started',
        },
      ])
      expect(Object.keys(launch.userProducts)).toEqual(['monthly'])
    }
    expect(await purchasesOf(uid)).toMatchObject([
      {
        product: 'pro',
        plan: 'p1m',
        order: 'GPA.1-2-3',
        price: '0',
        currency: 'USD',
        period_type: 'normal',
        screen: 'paywall',
        at: bought.time,
      },
    ])
  })

  test('init with purchases that were made offline: a wrong one costs the others nothing', async () => {
    const uid = newUid()
    const good = { token: unique('token'), order: 'GPA.9', product: 'no_ads' }
    const launch = readAndroidLaunch(
      await sdk().init({ key, uid, sandbox: true }, [
        { token: '', order: '', product: '' },
        good,
        { ...good, token: unique('t'), product: 'nothing' },
      ]),
    )
    expect(launch.permissions).toMatchObject({ noAds: { active: 1, renew_state: -1 } })
    expect(launch.permissions.noAds.store_transactions).toMatchObject([{ type: 'non_consumable_purchase' }])
    expect(await purchasesOf(uid)).toHaveLength(1)
  })

  test('restore takes what the device knows, each purchase once', async () => {
    const uid = newUid()
    const history = [
      { token: unique('token'), product: 'no_ads' },
      { token: unique('token'), product: 'year', time: Math.floor(Date.now() / 1000) },
    ]
    const launch = readAndroidLaunch(await sdk().restore({ key, uid, sandbox: true }, [...history, history[0]!]))
    expect(Object.keys(launch.permissions)).toEqual(['noAds', 'premium'])
    expect(await purchasesOf(uid)).toHaveLength(2)
  })

  test('a purchase without a screen is of that of the first context that has one, and of the one that it names, if it does', async () => {
    for (const [id, context] of [
      ['old', 'home'],
      ['new', 'home'],
      ['other', 'menu'],
    ])
      await api.pool.query(
        `insert into screens (environment, id, name, status, context_key, created_at, updated_at, published_at)
         select $1, $2, $2, 'published', $3, t, t, t from clock_timestamp() t`,
        [api.project.sandboxEnvironment, id, context],
      )
    const uid = newUid()
    const options = { key, uid, sandbox: true }
    const bought = (contexts: unknown, screen?: string) => ({
      ...{ token: unique('token'), order: unique('GPA.'), product: 'year', time: Math.floor(Date.now() / 1000), contexts },
      ...(screen && { screen }),
    })
    readAndroidLaunch(await sdk().purchase(options, bought(['none', 'home', 'menu'])))
    readAndroidLaunch(await sdk().init(options, [bought(['menu']), bought(['menu'], 'paywall')]))
    for (const none of [[], ['none'], 'menu', [7, '', 'a\u0000', 'x'.repeat(300)]])
      readAndroidLaunch(await sdk().purchase(options, bought(none)))
    expect((await purchasesOf(uid)).map(({ screen }) => screen).sort()).toEqual(['new', null, null, null, null, 'other', 'paywall'])
  })

  test('eligibility, identify, attribution', async () => {
    const options = { key, uid: newUid(), sandbox: true }
    const eligible = await sdk().eligibility(options, ['year', 'pro', 'no_ads', 'unknown'])
    expect(
      eligible.body.data.products_enriched
        .map((one: { product: { id: string }; intro_eligibility_status: string }) => [one.product.id, one.intro_eligibility_status])
        .sort(),
    ).toEqual([
      ['ads', 'non_intro_or_trial_product'],
      ['annual', 'unknown'],
      ['monthly', 'non_intro_or_trial_product'],
    ])
    const identified = await sdk().identify(options, unique('ada@example.com'))
    expect([identified.status, identified.body.data.anon_id]).toEqual([200, options.uid])
    const attributed = await sdk().attribution(options, 'appsflyer', { media_source: 'google', campaign: 'spring', one: 3 })
    expect([attributed.status, attributed.body]).toEqual([200, { success: true, data: { client_uid: options.uid, status: 'OK' } }])
    const { rows } = await api.pool.query('select media_source, campaign, ad_set from users where id = $1', [options.uid])
    expect(rows).toEqual([{ media_source: 'google', campaign: 'spring', ad_set: null }])
  })
})

describe('iOS', () => {
  const sdk = () => ios(call)

  test('init: names of language and country are no codes, and an advertiser of zeros is none', async () => {
    const uid = newUid()
    const launch = readIosLaunch(await sdk().init({ key, uid, sandbox: true }))
    expect(launch.products).toEqual({
      monthly: { id: 'monthly', store_id: 'apple.monthly', type: 1, duration: 1 },
      annual: { id: 'annual', store_id: 'apple.annual', type: 0, duration: 4 },
      ads: { id: 'ads', store_id: 'apple.ads', type: 2, duration: 5 },
      coins: { id: 'coins', type: 2, duration: -1 },
    })
    const { rows } = await api.pool.query('select platform, locale, country, advertiser_id, device_model from users where id = $1', [uid])
    expect(rows).toEqual([{ platform: 'iOS', locale: 'de', country: null, advertiser_id: null, device_model: 'iPhone14,3' }])
  })

  test.each(['purchase', 'purchaseOfStoreKit2'] as const)('%s: with the price of the app, while no store tells one', async how => {
    const uid = newUid()
    const id = String(Math.floor(Math.random() * 1e15))
    for (let i = 0; i < 2; i++) {
      const launch = readIosLaunch(await sdk()[how]({ key, uid, sandbox: true }, { id, product: 'apple.monthly', screen: 'paywall' }))
      expect(launch.permissions).toMatchObject({ premium: { active: 1, source: 'appstore', renews_count: 0, grant_type: 'purchase' } })
    }
    expect(await purchasesOf(uid)).toMatchObject([
      { transaction: id, price: '9.99', currency: 'EUR', period_type: 'normal', screen: 'paywall', country: 'DE' },
    ])
  })

  test('a one-time purchase has the word of iOS', async () => {
    const uid = newUid()
    const launch = readIosLaunch(await sdk().purchase({ key, uid, sandbox: true }, { id: String(Date.now()), product: 'apple.ads' }))
    expect(launch.permissions.noAds.store_transactions).toMatchObject([{ type: 'nonconsumable_purchase' }])
  })

  test('eligibility, identify, user and attribution are no errors to its mapper', async () => {
    const options = { key, uid: newUid(), sandbox: true }
    const identity = unique('ada')
    const replies = [
      await sdk().eligibility(options, [{ id: 'apple.annual', group: '2' }]),
      await sdk().identify(options, identity),
      await sdk().user(options),
      await sdk().attribution(options, 'adjust', { network: 'Unity', adid: 'a1b2' }),
      await sdk().attribution(options, 'appsflyer', { media_source: 'late' }, '1700000000000-1234567'),
    ]
    expect(replies.map(iosErrorOf)).toEqual([null, null, null, null, null])
    expect(replies[1]!.body.data).toEqual({ anon_id: options.uid })
    expect(replies[2]!.body.data).toEqual({ id: options.uid, identity_id: identity })
    const { rows } = await api.pool.query('select media_source, properties from users where id = $1', [options.uid])
    // Of attribution the first word counts.
    expect(rows).toEqual([{ media_source: 'Unity', properties: { _q_adjust_adid: 'a1b2', _q_appsflyer_user_id: '1700000000000-1234567' } }])
  })

  test('nulls and numbers as texts, in any place, count as absent or as numbers', async () => {
    const uid = newUid()
    const body = { q_uid: uid, install_date: null, device: { os: null, model: 7 }, receipt: null, purchases: null, debug_mode: 0 }
    const reply = await call('POST', '/v1/user/init', { headers: { ...JSON_HEADERS(), Platform: 'visionOS' }, body })
    expect(readIosLaunch(reply).uid).toBe(uid)
    const { rows } = await api.pool.query('select platform, device_model from users where id = $1', [uid])
    expect(rows).toEqual([{ platform: 'iOS', device_model: '7' }])
  })
})

const JSON_HEADERS = () => ({ 'Content-Type': 'application/json', Authorization: `Bearer ${key}` })

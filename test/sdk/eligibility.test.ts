// Who may have an introductory price, with stores that answer; what Apple says of an installation; and the event of old versions.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appleSubscription, MONTHLY, YEARLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../harness/stores/reached-stores.ts'
import { until } from '../harness/until.ts'
import type { VendorReply } from '../harness/vendor.ts'
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
  const requested = [
    { id: MONTHLY, group: '1' },
    { id: YEARLY, group: '1' },
    { id: 'com.example.other', group: '2' },
  ]
  expect(statuses(await sdk.eligibility(options, requested))).toEqual({ monthly: 'unknown', yearly: 'unknown', other: 'unknown' })
  await stores.connectApple()
  const eligible = 'intro_or_trial_eligible'
  expect(statuses(await sdk.eligibility(options, requested))).toEqual({ monthly: eligible, yearly: eligible, other: eligible })
  const subscription = appleSubscription(stores.chain)
  subscription.startTrial(Date.now() - DAY_MS)
  stores.apple.production.lineages.push({ ...subscription.state, group: subscription.lineage })
  readIosLaunch(await sdk.purchase(options, { id: subscription.lineage, product: MONTHLY }))
  const used = 'intro_or_trial_ineligible'
  expect(statuses(await sdk.eligibility(options, requested))).toEqual({ monthly: used, yearly: used, other: eligible })
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

describe('a token of AdServices', () => {
  let tokens = 0
  const newToken = () => `AdServices+token/${++tokens}==`
  const adServicesAnswer = { orgId: 55, conversionType: 'Download', countryOrRegion: 'US', clickDate: '2026-11-20T17:17Z' }
  const attributed = {
    status: 200,
    body: { attribution: true, campaignId: 542370539, adGroupId: 542317095, adId: 542317136, keywordId: 87675432, ...adServicesAnswer },
  }
  const { keywordId: _, ...withoutKeyword } = attributed.body
  const sample = { status: 200, body: { attribution: true, campaignId: 1234567890, adGroupId: 1234567890, adId: 1234567890 } }
  const send = async (token: unknown, uid = newUid(), key = stores.project.projectKey) => {
    const reply = await ios(sdkClient(stores.api)).attribution({ key, uid }, 'apple_adservices_token', {
      token,
      requested_at: 1_772_355_600,
    })
    return { uid, status: reply.status, body: reply.body }
  }
  const stateOf = async (uid: string) => {
    const { rows } = await stores.api.pool.query(
      `select t.result, t.token is null as "isForgotten", u.media_source as source, u.campaign, u.ad_set as set, u.ad
       from users u left join ad_services_tokens t on t.environment = u.environment and t.user_id = u.id where u.id = $1`,
      [uid],
    )
    return rows[0] as Record<string, unknown>
  }
  const resultOf = (uid: string) =>
    until('Apple has been asked', async () => {
      const state = await stateOf(uid)
      return state.result === null ? undefined : state
    })
  /** The run sleeps after its attempt of that number. */
  const waits = (attempt: number) =>
    until(`the run waits after attempt ${attempt}`, async () => {
      const { rowCount } = await stores.api.pool.query(
        `select from runs r join steps s on s.run = r.id join due d on d.kind = r.job_kind and d.id = r.id
         where r.environment = $1 and r.workflow = 'ad_services' and s.name = $2 and s.status = 'waiting' and d.lease_until is null`,
        [stores.project.production, `wait-${attempt}`],
      )
      return rowCount === 1 || undefined
    })
  const nothing = { isForgotten: true, source: null, campaign: null, set: null, ad: null }

  test('is exchanged at Apple, as text, and the numbers of the ad are the attribution of the user', async () => {
    const token = newToken()
    stores.adServices.answers.set(token, attributed)
    // A device breaks the lines of Base64.
    const { uid, status, body } = await send(`${token.slice(0, 9)}\n${token.slice(9)}`)
    expect([status, body]).toEqual([200, { success: true, data: { client_uid: uid, status: 'OK' } }])
    const ad = { source: 'Apple Search Ads', campaign: '542370539', set: '542317095', ad: '87675432' }
    expect(await resultOf(uid)).toEqual({ result: 'attributed', isForgotten: true, ...ad })
    // At every start of the app, too: Apple has answered.
    await send(token, uid)
    await send(newToken(), uid)
    expect(await stateOf(uid)).toMatchObject({ result: 'attributed', ...ad })
    const { rows } = await stores.api.pool.query(
      `select count(*)::int as runs from runs where environment = $1 and workflow = 'ad_services'`,
      [stores.project.production],
    )
    expect(rows).toEqual([{ runs: 1 }])
    expect(stores.adServices.requests).toHaveLength(1)
  })

  test('of an ad that no keyword led to gives the number of the ad', async () => {
    const token = newToken()
    stores.adServices.answers.set(token, { status: 200, body: withoutKeyword })
    const { uid } = await send(token)
    expect(await resultOf(uid)).toMatchObject({ campaign: '542370539', set: '542317095', ad: '542317136' })
  })

  test('does not make the app wait for Apple, and of attribution the first word counts', async () => {
    const token = newToken()
    let answer: (reply: VendorReply) => void = () => {}
    stores.adServices.answers.set(token, new Promise<VendorReply>(resolve => (answer = resolve)))
    const { uid, status } = await send(token)
    expect(status).toBe(200)
    await until('Apple is asked', async () => stores.adServices.requests.length === 1 || undefined)
    await ios(sdkClient(stores.api)).attribution({ key: stores.project.projectKey, uid }, 'adjust', { network: 'Unity' })
    expect(await stateOf(uid)).toMatchObject({ result: null, source: 'Unity' })
    answer(attributed)
    expect(await resultOf(uid)).toMatchObject({ source: 'Apple Search Ads', campaign: '542370539' })
  })

  test('is asked about again while Apple fails, cuts the connection, or does not know it yet', async () => {
    const token = newToken()
    const replies: VendorReply[] = [{ status: 503 }, 'cut', { status: 200, body: 'no answer' }, { status: 429 }, { status: 404 }]
    stores.adServices.answers.set(token, replies[0]!)
    const { uid } = await send(token)
    for (let n = 1; n <= replies.length; n++) {
      await waits(n)
      stores.adServices.answers.set(token, replies[n] ?? attributed)
      await stores.hurry()
    }
    expect(await resultOf(uid)).toMatchObject({ result: 'attributed', source: 'Apple Search Ads' })
    expect(stores.adServices.requests).toHaveLength(replies.length + 1)
  })

  test('that Apple does not know is asked about three times more; a later token begins anew', async () => {
    const { uid } = await send(newToken())
    for (let n = 1; n <= 3; n++) {
      await waits(n)
      await stores.hurry()
    }
    expect(await resultOf(uid)).toEqual({ result: 'unanswered', ...nothing })
    expect(stores.adServices.requests).toHaveLength(4)
    const token = newToken()
    stores.adServices.answers.set(token, { status: 200, body: { attribution: false } })
    await send(token, uid)
    expect(await resultOf(uid)).toEqual({ result: 'organic', ...nothing })
  })

  test('that is none is refused by Apple once; a sample counts in the sandbox only; a user who is erased meanwhile stays so', async () => {
    const [refused, sampled] = [newToken(), newToken()]
    stores.adServices.answers.set(refused, { status: 400 }).set(sampled, sample)
    const { projectKey } = stores.project
    const users = [await send(refused), await send(sampled), await send(sampled, newUid(), `test_${projectKey}`)]
    const results = await Promise.all(users.map(({ uid }) => resultOf(uid)))
    expect(results).toMatchObject([
      { result: 'refused', ...nothing },
      { result: 'organic', ...nothing },
      { result: 'attributed', campaign: '1234567890' },
    ])
    const { uid } = await send(newToken())
    await waits(1)
    await stores.good('DELETE', `/v4/customers/${uid}`)
    await stores.hurry()
    await until('the run has ended', async () => {
      const { rowCount } = await stores.api.pool.query(
        `select from runs where environment = $1 and workflow = 'ad_services' and finished_at is null`,
        [stores.project.production],
      )
      return rowCount === 0 || undefined
    })
    expect(await stateOf(uid)).toBeUndefined()
  })

  test.each([undefined, '', 7, 'a b\u0000', 'x'.repeat(4097)])('%j is none: 400, and nothing is kept', async token => {
    expect(await send(token)).toMatchObject({
      status: 400,
      body: { data: { code: 10001, message: 'provider_data.d.token must be 1 to 4096 characters of Base64' } },
    })
    const { rows } = await stores.api.pool.query(
      `select from ad_services_tokens t join environments e on e.id = t.environment where e.project = $1`,
      [stores.project.id],
    )
    expect(rows).toEqual([])
  })
})

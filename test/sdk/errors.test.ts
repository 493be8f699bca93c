// What mobile SDKs are told when something is wrong: the codes that they know, in the place in which they look.
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { android, androidHeaders, readAndroidError, readAndroidLaunch } from './android.ts'
import { newUid, type SdkClient, sdkClient } from './client.ts'
import { ios, iosErrorOf } from './ios.ts'

let api: TestApi
let call: SdkClient
let key: string
beforeAll(async () => {
  api = await startApi()
  call = sdkClient(api)
  key = `test_${api.project.projectKey}`
  for (const secret of [api.project.secret, api.project.sandbox]) {
    await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'm' }, secret)
    expect((await api.call('POST', '/v4/entitlements', { key: secret, body: { id: 'premium', product_ids: ['monthly'] } })).status).toBe(
      201,
    )
  }
})
afterAll(() => api.stop())

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  call('POST', path, { headers: { ...androidHeaders({ key, uid: '' }), ...headers }, body })
const bought = () => ({ token: unique('token'), order: 'GPA.1', product: 'm', time: Math.floor(Date.now() / 1000) })

describe('a key', () => {
  test.each(['unknown', 'sk_x'])('%s: 401, and both shapes', async wrong => {
    const options = { key: wrong, uid: newUid() }
    expect(readAndroidError(await android(call).init(options))).toEqual([401, 10003])
    expect((await android(call).identify(options, 'ada')).body).toEqual({
      error: { code: 10003, message: 'Invalid access token received' },
    })
    expect((await ios(call).user(options)).status).toBe(401)
  })

  test('of the other environment or of the server opens them, too; 403 would end the session of the SDK', async () => {
    const uid = newUid()
    readAndroidLaunch(await android(call).init({ key, uid }))
    for (const other of [api.project.projectKey, api.project.secret, api.project.sandbox])
      expect(readAndroidLaunch(await android(call).init({ key: other, uid })).uid).toBe(uid)
    const { rows } = await api.pool.query('select environment from users where id = $1', [uid])
    expect(rows).toEqual([{ environment: api.project.sandboxEnvironment }])
  })
})

describe('a user', () => {
  test('is named by q_uid, by client_uid, or by the header', async () => {
    const [one, two, three] = [newUid(), newUid(), newUid()]
    expect((await post('/v1/user/init', { q_uid: one, client_uid: two }, { 'User-Id': three })).body.data.uid).toBe(one)
    expect((await post('/v1/user/init', { client_uid: two }, { 'User-Id': three })).body.data.uid).toBe(two)
    expect((await post('/v1/user/init', { q_uid: '' }, { 'User-Id': three })).body.data.uid).toBe(three)
  })

  test.each([
    [undefined, 10004],
    ['', 10004],
    ['a b', 10005],
    ['..', 10005],
    [7, 10005],
    ['x'.repeat(257), 10005],
  ])('%s: %i', async (q_uid, code) => {
    expect(readAndroidError(await post('/v1/user/init', { q_uid }))).toEqual([400, code])
    expect((await post('/v2/identities', { anon_id: q_uid, identity_id: 'ada' })).body.error.code).toBe(code)
  })

  test('who does not exist is 404 in the shape of v2, and no answer names him in another project', async () => {
    const uid = newUid()
    readAndroidLaunch(await android(call).init({ key, uid }))
    const other = await api.newProject()
    for (const options of [
      { key, uid: newUid() },
      { key: other.projectKey, uid },
    ]) {
      const reply = await ios(call).user(options)
      expect([reply.status, reply.body]).toEqual([404, { error: { code: 10009, message: 'user not found' } }])
    }
    const elsewhere = readAndroidLaunch(await android(call).init({ key: other.projectKey, uid }))
    expect(elsewhere).toMatchObject({ uid, products: {} })
  })
})

test.each(['web', 'windows', 'Linux'])('the platform %s is unknown', async platform => {
  expect(readAndroidError(await post('/v1/user/init', { q_uid: newUid() }, { Platform: platform }))).toEqual([400, 10006])
})

describe('a purchase', () => {
  const options = () => ({ key, uid: newUid(), sandbox: true })

  test('that is malformed is 20008, and says which field', async () => {
    const { uid } = options()
    for (const [purchase, message] of [
      [undefined, 'purchase is required'],
      [7, 'purchase must be object'],
      [{ purchase_token: 'x' }, 'purchase.product is required'],
      [{ purchase_token: {}, product: 'm' }, 'purchase.purchase_token must be a text of at most 16384 characters'],
      [{ product: 'm' }, 'purchase.transaction_id is required, and the receipt tells none'],
    ] as const) {
      const reply = await post('/v1/user/purchase', { q_uid: uid, purchase })
      expect([readAndroidError(reply), reply.body.data.message]).toEqual([[400, 20008], message])
    }
  })

  test('of a product that none links is 20011, of another user 20014, and not confirmed in production 20005', async () => {
    expect(readAndroidError(await android(call).purchase(options(), { ...bought(), product: 'nothing' }))).toEqual([400, 20011])
    const mine = bought()
    const [ann, ben] = [options(), options()]
    readAndroidLaunch(await android(call).purchase(ann, mine))
    expect(readAndroidError(await android(call).purchase(ben, mine))).toEqual([422, 20014])
    // The first user has it still, however often it is sent.
    expect(readAndroidLaunch(await android(call).purchase(ann, mine)).permissions.premium.active).toBe(1)
    const production = { key: api.project.projectKey, uid: newUid() }
    expect(readAndroidError(await android(call).purchase(production, bought()))).toEqual([422, 20005])
    const reply = await ios(call).purchase({ ...production, uid: newUid() }, { id: '77', product: 'm' })
    expect([reply.status, iosErrorOf(reply)]).toEqual([422, { code: 20005 }])
  })

  test.each([
    ['unknown', { is: 'unknown' }, [422, 10008]],
    ['no answer', { is: 'no_answer' }, [502, 20006]],
    ['refused credentials', { is: 'no_answer', isRefused: true }, [422, 20201]],
  ] as const)('that the store answers with: %s', async (_, result, expected) => {
    const other = await startApi({ verifiers: { play_store: async () => result } })
    try {
      await product(other, { id: 'monthly', google_product_id: 'm' })
      const service_account_key = JSON.stringify({ type: 'service_account', client_email: 'a@example.com', private_key: 'k' })
      const stored = await other.call('POST', '/v4/project-settings/stores/google', {
        body: { package_name: 'com.x', service_account_key },
      })
      expect(stored.status, stored.text).toBe(200)
      const sdk = android(sdkClient(other))
      expect(readAndroidError(await sdk.purchase({ key: other.project.projectKey, uid: newUid() }, bought()))).toEqual(expected)
    } finally {
      await other.stop()
    }
  })
})

test('a purchase of the sandbox that names no product is not confirmed, whatever access the project grants for it', async () => {
  const other = await startApi({
    verifiers: {
      app_store: async ({ environment }) =>
        environment === 'production' ? { is: 'unknown' } : { is: 'confirmed', environment, reports: [], lineage: '77', subject: '77' },
    },
  })
  try {
    await product(other, { id: 'monthly', apple_product_id: 'm' })
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const iap_private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const key = { iap_key_identifier: '2X9R4HXF34', iap_issuer_id: '57246542-96fe-1a63-e053-0824d011072a', iap_private_key }
    const body = { bundle_id: 'com.x', app_id: '1234567890', ...key }
    const stored = await other.call('POST', '/v4/project-settings/stores/apple', { body })
    expect(stored.status, stored.text).toBe(200)
    const phone = { key: other.project.projectKey, uid: newUid() }
    const reply = await ios(sdkClient(other)).purchase(phone, { id: '77', product: 'm' })
    expect([reply.status, reply.body.data.message]).toEqual([422, 'the store does not confirm the purchase'])
  } finally {
    await other.stop()
  }
})

describe('the transport', () => {
  test('an unknown address, another method, no JSON, too large a body', async () => {
    const uid = newUid()
    expect(readAndroidError(await post('/v1/user/other', {}))).toEqual([404, 10009])
    expect((await post('/v2/other', {})).body.error.code).toBe(10009)
    const method = await call('GET', '/v1/user/init', { headers: androidHeaders({ key, uid }) })
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST'])
    const raw = (text: string) => call('POST', '/v1/user/init', { headers: androidHeaders({ key, uid }), raw: text })
    expect(readAndroidError(await raw('{'))).toEqual([400, 10001])
    expect(readAndroidError(await raw('7'))).toEqual([400, 10001])
    // A receipt may be large: 2 MiB.
    expect((await raw(JSON.stringify({ q_uid: uid, receipt: 'A'.repeat(1_900_000) }))).status).toBe(200)
    expect(readAndroidError(await raw(JSON.stringify({ q_uid: uid, receipt: 'A'.repeat(2_200_000) })))).toEqual([413, 10001])
  })

  test('too many requests of an address: 429 with Retry-After, counted together with v3', async () => {
    const limited = await startApi({ addressRateLimit: { perSecond: 0.01, burst: 2 } })
    try {
      const options = { key: limited.project.projectKey, uid: newUid() }
      const sdk = android(sdkClient(limited))
      readAndroidLaunch(await sdk.init(options))
      const v3 = await fetch(`${limited.url}/v3/users/${options.uid}`, { headers: { authorization: `Bearer ${options.key}` } })
      expect(v3.status).toBe(200)
      const reply = await sdk.init(options)
      expect(readAndroidError(reply)).toEqual([429, 10007])
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await limited.stop()
    }
  })

  test('a database that does not answer is 5xx in the shape of the SDK', async () => {
    const other = await startApi()
    const sdk = android(sdkClient(other))
    const options = { key: other.project.projectKey, uid: newUid() }
    try {
      readAndroidLaunch(await sdk.init(options))
      await other.pool.query('alter table offerings rename to offerings_gone')
      const reply = await sdk.init(options)
      expect([reply.status, reply.body.data.code]).toEqual([500, 10000])
      expect(reply.text).not.toContain('offerings')
    } finally {
      await other.stop()
    }
  })
})

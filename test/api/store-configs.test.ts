import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  emptyStoreConfig,
  findStoreConfig,
  isConnected,
  openStoreSecret,
  type StoreConfig,
  storeKeys,
  storeValue,
} from '../../domain/purchases/stores/config.ts'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const PUBLIC_PEM = publicKey.export({ type: 'spki', format: 'pem' }) as string
const CONNECT = { connect_key_identifier: 'K1', connect_private_key: PEM, connect_issuer_id: 'I1' }
const IAP = { iap_key_identifier: 'K2', iap_private_key: PEM, iap_issuer_id: 'I2' }
const NO_IAP = { iap_key_identifier: null, iap_private_key: null, iap_issuer_id: null }

const path = (platform: string) => `/v4/project-settings/stores/${platform}`
const get = (key: string, platform: string) => api.call('GET', path(platform), { key })
const post = (key: string, platform: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', path(platform), { key, body, headers })
const log = async (key: string) => (await api.call('GET', '/v4/audit-log', { key })).body.data

const NOTHING = {
  apple: {
    object: 'store_config',
    url: path('apple'),
    platform: 'apple',
    enabled: false,
    has_shared_secret: false,
    has_connect_private_key: false,
    has_iap_private_key: false,
    app_id: null,
    bundle_id: null,
    connect_key_identifier: null,
    connect_issuer_id: null,
    iap_key_identifier: null,
    iap_issuer_id: null,
  },
  google: {
    object: 'store_config',
    url: path('google'),
    platform: 'google',
    enabled: false,
    has_service_account_key: false,
    package_name: null,
    push_service_account: null,
  },
}

describe('a store configuration', () => {
  test('without stored values has false flags and nulls', async () => {
    for (const platform of ['apple', 'google'] as const) {
      const { body, headers } = await get(api.project.secret, platform)
      expect(body).toEqual(NOTHING[platform])
      expect(headers.get('cache-control')).toBe('no-store')
    }
    const unset = {
      object: 'store_config',
      enabled: false,
      has_api_key: false,
      has_webhook_secret: false,
      has_sandbox_api_key: false,
      has_sandbox_webhook_secret: false,
    }
    for (const platform of ['stripe', 'paddle'])
      expect((await get(api.project.secret, platform)).body).toEqual({ ...unset, platform, url: path(platform) })
    expect((await get(api.project.secret, 'amazon')).body.error.details[0].field).toBe('platform')
  })

  test('keeps fields that are left out, removes those that are null, is the same under both keys and shows no secret', async () => {
    const { secret, sandbox, id } = await api.newProject()
    const first = await post(secret, 'apple', { bundle_id: 'org.example', shared_secret: 'hush-hush', ...IAP })
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const shown = {
      ...NOTHING.apple,
      enabled: true,
      bundle_id: 'org.example',
      has_shared_secret: true,
      has_iap_private_key: true,
      iap_key_identifier: 'K2',
      iap_issuer_id: 'I2',
    }
    expect(first.body).toEqual(shown)
    expect((await get(sandbox, 'apple')).body).toEqual(shown)
    await post(sandbox, 'apple', { app_id: '42', shared_secret: null })
    await post(secret, 'apple', NO_IAP)
    expect((await get(secret, 'apple')).body).toEqual({
      ...NOTHING.apple,
      enabled: true,
      bundle_id: 'org.example',
      app_id: '42',
    })
    await post(secret, 'apple', { shared_secret: 'hush-hush' })
    const { rows } = await api.pool.query('select secrets::text from store_configs where project = $1', [id])
    expect(rows[0].secrets).not.toContain('hush')
    expect((await get((await api.newProject()).secret, 'apple')).body).toEqual(NOTHING.apple)
  })

  test('without a change is not stored', async () => {
    const { secret } = await api.newProject()
    await post(secret, 'stripe', {})
    expect((await post(secret, 'stripe', { api_key: null })).body.enabled).toBe(false)
    await post(secret, 'stripe', { api_key: 'rk_1' })
    await post(secret, 'stripe', { api_key: 'rk_1', webhook_secret: null, enabled: true })
    expect(await log(secret)).toHaveLength(1)
  })

  test('can decrypt its secrets, each only in its own field', async () => {
    const { secret, id } = await api.newProject()
    await post(secret, 'stripe', { api_key: 'rk_1' })
    const config = (await findStoreConfig(api.pool, id, 'stripe'))!
    expect(openStoreSecret(api.secrets, id, 'stripe', config, 'api_key')).toBe('rk_1')
    expect(openStoreSecret(api.secrets, id, 'stripe', config, 'webhook_secret')).toBeNull()
    expect(() => openStoreSecret(api.secrets, id, 'paddle', config, 'api_key')).toThrow()
  })
})

describe('a refused request', () => {
  test.each([
    ['google', { bundle_id: 'x' }, 'bundle_id'],
    ['apple', { api_key: 'x' }, 'api_key'],
    ['paddle', { shared_secret: null }, 'shared_secret'],
    ['stripe', { sectets: 'x' }, 'sectets'],
    ['apple', { ...CONNECT, connect_private_key: 'no key' }, 'connect_private_key'],
    ['apple', { ...IAP, iap_private_key: PUBLIC_PEM }, 'iap_private_key'],
    ['google', { service_account_key: '{' }, 'service_account_key'],
    ['google', { service_account_key: '[]' }, 'service_account_key'],
    ['google', { package_name: 'x'.repeat(256) }, 'package_name'],
    ['stripe', { api_key: 'é'.repeat(8193) }, 'api_key'],
    ['stripe', { enabled: null }, 'enabled'],
    ['stripe', { sandbox_api_key: 'sk_live_1' }, 'sandbox_api_key'],
    ['stripe', { sandbox_api_key: 'rk_live_1' }, 'sandbox_api_key'],
    ['paddle', { sandbox_api_key: 'pdl_live_apikey_1' }, 'sandbox_api_key'],
    ['apple', { sandbox_api_key: 'sk_test_1' }, 'sandbox_api_key'],
    ['google', { push_service_account: 'x'.repeat(256) }, 'push_service_account'],
  ])('%s with %j', async (platform, body, field) => {
    const answer = await post(api.project.secret, platform, body)
    expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_data'])
    expect(answer.body.error.details).toEqual([{ field, message: expect.any(String) }])
  })

  test.each([
    ['one of three', { iap_key_identifier: 'K' }],
    ['two of three', { connect_key_identifier: 'K', connect_private_key: PEM }],
    ['strings beside a null', { ...IAP, iap_issuer_id: null }],
    ['one null', { iap_issuer_id: null }],
    ['one whole triplet beside a part of the other', { ...IAP, connect_issuer_id: 'I' }],
  ])('has a part of a triplet: %s', async (_name, body) => {
    const { secret } = await api.newProject()
    const answer = await post(secret, 'apple', { bundle_id: 'org.example', ...body })
    expect([answer.status, answer.body.error]).toMatchObject([422, { type: 'logical', code: 'incomplete_credentials' }])
    expect((await get(secret, 'apple')).body).toEqual(NOTHING.apple)
  })

  test('switches a store off with a Secret Key, with any other fields', async () => {
    const { secret } = await api.newProject()
    const answer = await post(secret, 'google', { package_name: 'org.example', enabled: false })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
    expect((await get(secret, 'google')).body).toEqual(NOTHING.google)
    expect(await log(secret)).toEqual([])
  })
})

test('a change leaves one entry with flags for secrets, also when only a secret changes, and a repeat none', async () => {
  const { secret, sandbox } = await api.newProject()
  const made = await post(secret, 'apple', { shared_secret: 'one', ...CONNECT }, { 'Idempotency-Key': 'a' })
  const again = await post(secret, 'apple', { shared_secret: 'one', ...CONNECT }, { 'Idempotency-Key': 'a' })
  expect(again.body).toEqual(made.body)
  expect([again.headers.get('idempotency-replayed'), again.headers.get('cache-control')]).toEqual(['true', 'no-store'])
  await post(secret, 'apple', { shared_secret: 'two' })
  const entries = await log(sandbox)
  const about = { operation: 'v4UpdateStoreConfig', resource: 'store_config', resource_id: 'apple' }
  expect(entries).toMatchObject([
    { ...about, before: made.body, after: made.body },
    { ...about, before: null, after: made.body },
  ])
})

test('of 50 concurrent changes of different fields none is lost', async () => {
  const { secret } = await api.newProject()
  const bodies = [{ app_id: '1' }, { bundle_id: 'b' }, { shared_secret: 's' }, CONNECT, IAP]
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(secret, 'apple', bodies[n % 5])))
  expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([200]))
  const { body } = await get(secret, 'apple')
  expect(Object.values(body)).not.toContain(null)
  expect(Object.values(body)).not.toContain(false)
  expect(await log(secret)).toHaveLength(5)
})

test('the service account of pushes and the sandbox pair are stored beside the rest', async () => {
  const { secret } = await api.newProject()
  const google = await post(secret, 'google', { package_name: 'org.example', push_service_account: 'push@x.iam.gserviceaccount.com' })
  expect(google.body).toMatchObject({ package_name: 'org.example', push_service_account: 'push@x.iam.gserviceaccount.com' })
  const paddle = await post(secret, 'paddle', { sandbox_api_key: 'pdl_sdbx_1', sandbox_webhook_secret: 'whsec_2' })
  expect(paddle.body).toMatchObject({
    has_api_key: false,
    has_webhook_secret: false,
    has_sandbox_api_key: true,
    has_sandbox_webhook_secret: true,
  })
})

const config = (platform: 'apple' | 'google', fields: string[], enabled = true): StoreConfig => ({
  ...emptyStoreConfig(platform),
  enabled,
  fields: Object.fromEntries(fields.map(name => [name, 'x'])),
})

test('Apple and Google are connected in both environments when they are enabled and have what verification needs', () => {
  const connected = (one: StoreConfig) =>
    (['production', 'sandbox'] as const).map(environment => isConnected(one, environment, name => one.fields[name] ?? null))
  const apple = ['bundle_id', 'iap_key_identifier', 'iap_issuer_id', 'iap_private_key']
  expect(connected(config('apple', apple))).toEqual([true, true])
  expect(connected(config('apple', apple, false))).toEqual([false, false])
  expect(connected(config('apple', apple.slice(1)))).toEqual([false, false])
  expect(connected(config('apple', apple.slice(0, 3)))).toEqual([false, false])
  expect(connected(config('google', ['package_name', 'service_account_key']))).toEqual([true, true])
  expect(connected(config('google', ['package_name']))).toEqual([false, false])
})

const NONE = { apiKey: null, webhookSecret: null }
test.each<[Record<string, string>, object, object]>([
  [{}, NONE, NONE],
  [{ api_key: 'sk_live_1', webhook_secret: 'w1' }, { apiKey: 'sk_live_1', webhookSecret: 'w1' }, NONE],
  [{ api_key: 'rk_test_1', webhook_secret: 'w1' }, NONE, { apiKey: 'rk_test_1', webhookSecret: 'w1' }],
  [{ api_key: 'pdl_sdbx_apikey_1' }, NONE, { apiKey: 'pdl_sdbx_apikey_1', webhookSecret: null }],
  [
    { api_key: 'old', sandbox_api_key: 'x', sandbox_webhook_secret: 'w2' },
    { apiKey: 'old', webhookSecret: null },
    { apiKey: 'x', webhookSecret: 'w2' },
  ],
  [
    { api_key: 'sk_test_1', webhook_secret: 'w1', sandbox_api_key: 'sk_test_2', sandbox_webhook_secret: 'w2' },
    NONE,
    { apiKey: 'sk_test_2', webhookSecret: 'w2' },
  ],
])('of %j each environment has its own pair of keys', async (change, production, sandbox) => {
  const { secret, id } = await api.newProject()
  if (Object.keys(change).length > 0) await post(secret, 'stripe', change)
  const stored = (await findStoreConfig(api.pool, id, 'stripe')) ?? emptyStoreConfig('stripe')
  const value = storeValue(api.secrets, id, stored)
  expect([storeKeys('production', value), storeKeys('sandbox', value)]).toEqual([production, sandbox])
  const isKeyed = (keys: object) => !('apiKey' in keys) || keys.apiKey !== null
  expect([isConnected(stored, 'production', value), isConnected(stored, 'sandbox', value)]).toEqual([isKeyed(production), isKeyed(sandbox)])
})

import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyStoreConfig, findStoreConfig, isConnected, openStoreSecret } from '../../domain/stores/config.ts'
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
  },
}

describe('a store configuration', () => {
  test('without stored values has false flags and nulls', async () => {
    for (const platform of ['apple', 'google'] as const) {
      const { body, headers } = await get(api.project.secret, platform)
      expect(body).toEqual(NOTHING[platform])
      expect(headers.get('cache-control')).toBe('no-store')
    }
    const unset = { object: 'store_config', enabled: false, has_api_key: false, has_webhook_secret: false }
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

test('a store is connected when it is enabled and has what verification needs', () => {
  const config = (platform: 'apple' | 'google' | 'stripe' | 'paddle', fields: string[], secrets: string[], enabled = true) => ({
    platform,
    enabled,
    fields: Object.fromEntries(fields.map(name => [name, 'x'])),
    secrets: Object.fromEntries(secrets.map(name => [name, 'x'])),
  })
  const apple = ['bundle_id', 'iap_key_identifier', 'iap_issuer_id']
  expect(isConnected(config('apple', apple, ['iap_private_key']))).toBe(true)
  expect(isConnected(config('apple', apple, ['iap_private_key'], false))).toBe(false)
  expect(isConnected(config('apple', apple.slice(1), ['iap_private_key']))).toBe(false)
  expect(isConnected(config('apple', apple, ['connect_private_key']))).toBe(false)
  expect(isConnected(config('google', ['package_name'], ['service_account_key']))).toBe(true)
  expect(isConnected(config('google', ['package_name'], []))).toBe(false)
  expect(isConnected(config('stripe', [], ['api_key']))).toBe(true)
  expect(isConnected(config('paddle', [], ['webhook_secret']))).toBe(false)
  expect(isConnected({ ...emptyStoreConfig('paddle'), enabled: true })).toBe(false)
})

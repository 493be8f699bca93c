import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const IAP = {
  iap_key_identifier: '2X9R4HXF34',
  iap_issuer_id: '57246542-96fe-1a63-e053-0824d011072a',
  iap_private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}
const BUNDLE = 'com.example.app'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  expect((await v3('POST', '/v3/users/ada')).status).toBe(201)
})
afterAll(() => api.stop())

const connect = (body: object) => api.call('POST', '/v4/project-settings/stores/apple', { body })
const sign = (body: object, user = 'ada', offer = 'spring') => v3('POST', `/v3/users/${user}/offers/${offer}/signatures`, { body })
const missing = (message: string) => [422, v3Error(api, 'logical', 'relation_not_found', message)]

test('without the key of in-app purchases, or the bundle id of the app, there is no signature', async () => {
  const message = "the project has no in-app purchase key of the App Store, or no app's bundle id"
  const unsigned = async () => {
    const { status, body } = await sign({ product: 'monthly' })
    return [status, body]
  }
  expect(await unsigned()).toEqual(missing(message))
  expect((await connect({ bundle_id: BUNDLE })).status).toBe(200)
  expect(await unsigned()).toEqual(missing(message))
  expect((await sign({}, 'nobody')).status).toBe(400)
  expect((await sign({ product: 'monthly' }, 'nobody')).body).toEqual(v3Error(api, 'resource', 'not_found', 'User not found'))
})

test('the App Store accepts the signature; each has a nonce of its own', async () => {
  expect((await connect(IAP)).status).toBe(200)
  const seen = new Set<string>()
  for (const [given, token] of [
    [{}, ''],
    [{ app_bundle_id: BUNDLE, app_account_token: null }, ''],
    [{ app_account_token: '7E3FB20B-4CDB-47CC-936D-99D65F608138' }, '7e3fb20b-4cdb-47cc-936d-99d65f608138'],
  ] as const) {
    const { status, body } = await sign({ product: 'monthly', ...given }, 'ada', 'spring%2F2')
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(['key_identifier', 'nonce', 'signature', 'timestamp'])
    expect(body.key_identifier).toBe(IAP.iap_key_identifier)
    expect(body.nonce).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(Math.abs(body.timestamp - Date.now())).toBeLessThan(60_000)
    // As the App Store joins them.
    const parts = [BUNDLE, IAP.iap_key_identifier, 'monthly', 'spring/2', token, body.nonce, body.timestamp]
    const verifier = createVerify('SHA256').update(parts.join('\u2063'))
    expect(verifier.verify(createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })), body.signature, 'base64')).toBe(true)
    seen.add(body.nonce)
  }
  expect(seen.size).toBe(3)
})

test('for another app there is none', async () => {
  const { status, body } = await sign({ product: 'monthly', app_bundle_id: 'com.example.other' })
  expect([status, body]).toEqual(missing("app_bundle_id is not that of the project's app"))
})

test.each([
  [{}, 'product', 'is required'],
  [{ product: null }, 'product', 'is required'],
  [{ product: 1 }, 'product', 'must be string'],
  [{ product: '' }, 'product', 'must have at least 1 character'],
])('%j is 400', async (body, name, message) => {
  const answer = await sign(body)
  expect([answer.status, answer.body._meta.fields]).toEqual([400, [{ name, messages: [message] }]])
})

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { PACKAGE, PUSHER, pushBody, rightClaims } from '../../../harness/stores/google.ts'
import { ADDRESS, type PlayFixture, playFixture, settingsWith } from '../../../harness/stores/google-fixture.ts'

/** A whole second, so that the edges of 300 s are exact. The library has a clock of its own: it stands still, too. */
const NOW = Math.floor(Date.now() / 1000) * 1000
let fixture: PlayFixture
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW })
  fixture = await playFixture()
})
afterAll(() => {
  vi.useRealTimers()
  return fixture.close()
})

const BODY = pushBody(
  { eventTimeMillis: NOW, subscriptionNotification: { version: '1.0', notificationType: 2, purchaseToken: 'token-1' } },
  'message-1',
)
const arrival = (authorization: string | undefined, body: Uint8Array = BODY) => ({
  body,
  headers: { authorization },
  address: ADDRESS,
  receivedAtMs: NOW,
})

/** The answer to a push whose token has some other claims or another header than a right one. */
const verified = (claims: Record<string, unknown> = {}, header = {}, settings = fixture.settings) =>
  fixture.play.verify(arrival(`Bearer ${fixture.google.idToken({ ...rightClaims(ADDRESS, NOW), ...claims }, header)}`), settings)

test('a right push is accepted under its message id, with its type and queue', async () => {
  expect(await verified()).toEqual({
    is: 'accepted',
    notification: { id: 'message-1', type: 'subscription', subtype: 'RENEWED', environment: null, queue: 'token-1', statedAt: NOW },
  })
})

test.each([
  ['the other form of the issuer', { iss: 'accounts.google.com' }],
  ['the service account itself', { email: 'perennial@shop-1.iam.gserviceaccount.com' }],
  ['issued 299 s ahead', { iat: NOW / 1000 + 299 }],
  ['expired 299 s ago', { iat: NOW / 1000 - 3900, exp: NOW / 1000 - 299 }],
])('accepted: %s', async (_, claims) => expect((await verified(claims)).is).toBe('accepted'))

test.each([
  ['the address of another project', { aud: 'https://perennial.example/stores/google/8' }],
  ['the address with a query', { aud: `${ADDRESS}?a=1` }],
  ['no audience', { aud: undefined }],
  ['another issuer', { iss: 'https://accounts.example.com' }],
  ['a service account of a stranger', { email: 'pubsub@shop-2.iam.gserviceaccount.com' }],
  ['a project whose name ends alike', { email: 'pubsub@my.shop-1.iam.gserviceaccount.com' }],
  ['a domain that ends alike', { email: 'pubsub@shop-1.iam.gserviceaccount.com.example.com' }],
  ['two at signs', { email: 'a@b@shop-1.iam.gserviceaccount.com' }],
  ['no e-mail', { email: undefined }],
  ['an e-mail that is not verified', { email_verified: false }],
  ['a word for verified', { email_verified: 'true' }],
  ['issued 301 s ahead', { iat: NOW / 1000 + 301 }],
  ['expired 301 s ago', { iat: NOW / 1000 - 3900, exp: NOW / 1000 - 301 }],
  ['no end', { exp: undefined }],
  ['valid for years', { exp: NOW / 1000 + 100_000 }],
])('unauthorized: %s', async (_, claims) => expect(await verified(claims)).toEqual({ is: 'unauthorized' }))

test.each([
  ['no signature', { alg: 'none' }],
  ['a signature with the certificate as its secret', { alg: 'HS256' }],
  ['another algorithm', { alg: 'RS512' }],
  ['no key id', { kid: undefined }],
  ['the key id of another object', { kid: 'constructor' }],
])('unauthorized: %s', async (_, header) => expect(await verified({}, header)).toEqual({ is: 'unauthorized' }))

test.each([
  ['absent', undefined],
  ['empty', ''],
  ['basic', 'Basic YTpi'],
  ['without token', 'Bearer'],
  ['of two parts', 'Bearer a.b'],
  ['of three that are no JSON', 'Bearer a.b.c'],
  ['too long', `Bearer ${'a'.repeat(9000)}.b.c`],
])('unauthorized: a header that is %s', async (_, header) =>
  expect(await fixture.play.verify(arrival(header), fixture.settings)).toEqual({ is: 'unauthorized' }))

test('a changed claim breaks the signature', async () => {
  const token = fixture.google.idToken({ ...rightClaims(ADDRESS, NOW), email: 'stranger@example.com' })
  const [head, , signature] = token.split('.')
  const changed = Buffer.from(JSON.stringify(rightClaims(ADDRESS, NOW))).toString('base64url')
  expect(await fixture.play.verify(arrival(`Bearer ${head}.${changed}.${signature}`), fixture.settings)).toEqual({ is: 'unauthorized' })
})

test('a configured push account is the only one', async () => {
  const settings = settingsWith({
    package_name: PACKAGE,
    service_account_key: fixture.google.serviceAccountKey,
    push_service_account: 'push@elsewhere.iam.gserviceaccount.com',
  })
  expect((await verified({ email: 'push@elsewhere.iam.gserviceaccount.com' }, {}, settings)).is).toBe('accepted')
  expect((await verified({ email: PUSHER }, {}, settings)).is).toBe('unauthorized')
})

test('nothing of a token is logged or thrown', async () => {
  const logged: unknown[] = []
  const spies = (['log', 'info', 'warn', 'error'] as const).map(name =>
    vi.spyOn(console, name).mockImplementation((...words) => logged.push(words)),
  )
  await verified({ aud: 'https://elsewhere.example' })
  await fixture.play.verify(arrival('Bearer secret-head.secret-claims.secret-signature'), fixture.settings)
  for (const spy of spies) spy.mockRestore()
  expect(logged).toEqual([])
})

test('another package is foreign, and told only to a right sender', async () => {
  const body = pushBody({ packageName: 'com.other', eventTimeMillis: NOW, testNotification: { version: '1.0' } }, 'message-2')
  const token = fixture.google.idToken(rightClaims(ADDRESS, NOW))
  expect(await fixture.play.verify(arrival(`Bearer ${token}`, body), fixture.settings)).toEqual({ is: 'foreign', reason: 'package' })
  expect(await fixture.play.verify(arrival(undefined, body), fixture.settings)).toEqual({ is: 'unauthorized' })
})

test('a test is recognised as one', async () => {
  const body = pushBody({ eventTimeMillis: NOW, testNotification: { version: '1.0' } }, 'message-3')
  const token = fixture.google.idToken(rightClaims(ADDRESS, NOW))
  expect(await fixture.play.verify(arrival(`Bearer ${token}`, body), fixture.settings)).toEqual({
    is: 'ignored',
    type: 'test',
    isTest: true,
  })
})

test.each([
  ['switched off', (key: string) => settingsWith({ package_name: PACKAGE, service_account_key: key }, false), 'off'],
  ['without package', (key: string) => settingsWith({ service_account_key: key }), 'not_connected'],
  ['without key', () => settingsWith({ package_name: PACKAGE }), 'not_connected'],
  ['without key, with push account', () => settingsWith({ package_name: PACKAGE, push_service_account: PUSHER }), 'not_connected'],
])('a store %s is unavailable', async (_, settings, reason) =>
  expect(await verified({}, {}, settings(fixture.google.serviceAccountKey))).toEqual({ is: 'unavailable', reason }))

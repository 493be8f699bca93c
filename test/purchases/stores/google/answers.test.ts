import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PACKAGE } from '../../../harness/stores/google.ts'
import { type PlayFixture, playFixture, reportsOf, settingsWith } from '../../../harness/stores/google-fixture.ts'
import { playStory } from '../../../harness/stores/google-story.ts'
import type { VendorReply } from '../../../harness/vendor.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
  playStory(fixture.google, { token: 'token-1' }).subscribe(START)
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.instead = () => undefined
  fixture.google.tokens.refuse = null
  fixture.google.requests.length = 0
})

const refresh = (token = 'token-1') => fixture.play.refresh(token, fixture.context)
/** The answer of one kind of request; all others are right. */
function answerOf(path: string, reply: VendorReply) {
  fixture.google.instead = request => (request.path.includes(path) ? reply : undefined)
}
const LIMIT = { error: { code: 403, errors: [{ reason: 'rateLimitExceeded' }] } }

const ANSWERS: [string, VendorReply, object][] = [
  ['429 with seconds', { status: 429, headers: { 'retry-after': '120' } }, { is: 'later', why: 'http_429', afterMs: 120_000 }],
  ['429 without', { status: 429 }, { is: 'later', why: 'http_429', afterMs: null }],
  ['500', { status: 500 }, { is: 'later', why: 'http_500', afterMs: null }],
  ['503 with seconds', { status: 503, headers: { 'retry-after': '7' } }, { is: 'later', why: 'http_503', afterMs: 7000 }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1/' } }, { is: 'later', why: 'http_302', afterMs: null }],
  ['no JSON', { status: 200, body: '<html>' }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['cut off', 'cut', { is: 'later', why: 'connection_failed', afterMs: null }],
  ['401 again and again', { status: 401 }, { is: 'refused', why: 'http_401' }],
  ['403 for a quota', { status: 403, body: LIMIT }, { is: 'later', why: 'http_403', afterMs: null }],
]

test.each(ANSWERS)('the subscription: %s', async (_, reply, answer) => {
  answerOf('subscriptionsv2', reply)
  expect(await refresh()).toEqual(answer)
})

test.each(ANSWERS)('the orders: %s', async (_, reply, answer) => {
  answerOf('orders:batchGet', reply)
  expect(await refresh()).toEqual(answer)
})

test.each(ANSWERS)('the one-time purchase: %s', async (_, reply, answer) => {
  answerOf('productsv2', reply)
  expect(await refresh('coins')).toEqual(answer)
})

test('without permission for purchases: refused', async () => {
  answerOf('subscriptionsv2', { status: 403, body: { error: { code: 403, status: 'PERMISSION_DENIED' } } })
  expect(await refresh()).toEqual({ is: 'refused', why: 'http_403' })
})

test('a token that Google does not know, or cannot even read, is unknown', async () => {
  expect(await refresh('nobody')).toMatchObject({ is: 'unknown' })
  fixture.google.instead = () => ({ status: 400, body: { error: { code: 400, message: 'Invalid Value' } } })
  expect(await refresh('not a token')).toMatchObject({ is: 'unknown' })
})

test('a token that Google has forgotten is gone', async () => {
  fixture.google.gone.add('forgotten')
  expect(await refresh('forgotten')).toEqual({ is: 'gone', word: { code: 'http_410', message: 'GONE' } })
})

test('a token is one part of the address', async () => {
  await refresh('a/b?c')
  expect(fixture.google.requests.find(({ path }) => path.includes('subscriptionsv2'))!.path).toMatch(/tokens\/a%2Fb%3Fc$/)
})

test('an access token that is no longer accepted is replaced once', async () => {
  await refresh()
  const before = fixture.google.tokens.given()
  fixture.google.tokens.revoke()
  expect(reportsOf(await refresh())).toHaveLength(1)
  expect(fixture.google.tokens.given()).toBe(before + 1)
})

test.each<[VendorReply, object]>([
  [
    { status: 400, body: { error: 'invalid_grant' } },
    { is: 'refused', why: 'no_access_token' },
  ],
  [
    { status: 503, headers: { 'retry-after': '30' } },
    { is: 'later', why: 'http_503', afterMs: 30_000 },
  ],
  ['cut', { is: 'later', why: 'connection_failed', afterMs: null }],
])('no access token: %j', async (reply, answer) => {
  const other = await playFixture()
  other.google.tokens.refuse = reply
  expect(await other.play.refresh('token-1', other.context)).toEqual(answer)
  await other.close()
})

test.each([
  ['package', { service_account_key: 'key' }],
  ['key', { package_name: PACKAGE }],
  ['readable key', { package_name: PACKAGE, service_account_key: '{}' }],
])('without %s nobody is asked', async (_, values) => {
  const settings = settingsWith(values)
  expect(await fixture.play.refresh('token-1', { ...fixture.context, settings })).toEqual({ is: 'refused', why: 'not_connected' })
  expect(fixture.google.requests).toEqual([])
})

test('an answer that does not come ends with the signal', async () => {
  fixture.google.instead = () => 'hang'
  const controller = new AbortController()
  const requested = fixture.play.refresh('token-1', { ...fixture.context, signal: controller.signal })
  setTimeout(() => controller.abort(new Error('enough')), 20)
  await expect(requested).rejects.toThrow('enough')
})

test('a slow answer is waited for', async () => {
  fixture.google.instead = () => new Promise(resolve => setTimeout(() => resolve({ status: 500 }), 50))
  expect(await refresh()).toMatchObject({ is: 'later', why: 'http_500' })
})

test('an answer of over a megabyte is read as a whole', async () => {
  const { subscribe, renew, endsAt } = playStory(fixture.google, { token: 'weekly', order: 'GPA.weekly', days: 7 })
  subscribe(START)
  for (let renewals = 0; renewals < 700; renewals++) renew()
  const order = fixture.google.orders.get('GPA.weekly')!
  Object.assign(order, { filler: 'x'.repeat(1_200_000) })
  const [report] = reportsOf(await refresh('weekly'))
  const ends = report!.statements.flatMap(statement => (statement.kind === 'period' ? [statement.reported.ends ?? ''] : []))
  expect(ends.toSorted().at(-1)).toBe(`${new Date(endsAt()).toISOString().slice(0, 19)}Z`)
  expect(new Set(report!.statements.map(({ subject }) => subject)).size).toBe(701)
})

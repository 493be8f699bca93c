import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { reportsOf, settingsWith } from '../../../harness/stores/google-fixture.ts'
import { type PaddleFixture, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { paddleStory, paddleTransaction } from '../../../harness/stores/paddle-story.ts'
import type { VendorReply } from '../../../harness/vendor.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PaddleFixture
let subscription: string
let once: string
beforeAll(async () => {
  fixture = await paddleFixture()
  const { subscribe, id } = paddleStory(fixture.live)
  subscribe(START)
  subscription = id
  once = paddleTransaction(fixture.live, START, [{ product: 'coins', price: '1', isOnce: true }]).id
})
afterAll(() => fixture.close())
beforeEach(() => {
  Object.assign(fixture.live, { instead: () => undefined, date: null })
  fixture.live.requests.length = 0
  fixture.sandbox.requests.length = 0
})

const refresh = (queue = subscription, context = fixture.context) => fixture.paddle.refresh(queue, context)
function answerOf(path: string, reply: VendorReply) {
  fixture.live.instead = request => (request.path.startsWith(path) ? reply : undefined)
}

const ANSWERS: [string, VendorReply, object][] = [
  ['429 with seconds', { status: 429, headers: { 'retry-after': '57' } }, { is: 'later', why: 'http_429', afterMs: 57_000 }],
  ['429 without', { status: 429 }, { is: 'later', why: 'http_429', afterMs: null }],
  ['500', { status: 500 }, { is: 'later', why: 'http_500', afterMs: null }],
  ['503 with seconds', { status: 503, headers: { 'retry-after': '7' } }, { is: 'later', why: 'http_503', afterMs: 7000 }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1/' } }, { is: 'later', why: 'http_302', afterMs: null }],
  ['no JSON', { status: 200, body: '<html>' }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['nothing', { status: 200 }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['another shape', { status: 200, body: { data: { name: 'x' } } }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['entities without id', { status: 200, body: { data: [{}] } }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['cut off', 'cut', { is: 'later', why: 'connection_failed', afterMs: null }],
  ['401', { status: 401 }, { is: 'refused', why: 'http_401' }],
  ['403', { status: 403, body: { error: { code: 'forbidden' } } }, { is: 'refused', why: 'http_403' }],
]
const PATHS = ['/subscriptions/', '/transactions', '/adjustments']

for (const path of PATHS)
  test.each(ANSWERS)(`${path}: %s`, async (_, reply, answer) => {
    answerOf(path, reply)
    expect(await refresh()).toEqual(answer)
  })

test.each(ANSWERS)('the transaction of a one-time purchase: %s', async (_, reply, answer) => {
  answerOf(`/transactions/${once}`, reply)
  expect(await refresh(once)).toEqual(answer)
})

test.each([
  [404, 'unknown'],
  [410, 'gone'],
])('%i: %s', async (status, is) => {
  for (const [path, queue] of [
    ['/subscriptions/', subscription],
    ['/transactions/', once],
  ] as const) {
    answerOf(path, { status, body: { error: { code: 'not_found' } } })
    expect(await refresh(queue)).toEqual({ is, word: { code: `http_${status}_not_found` } })
  }
})

test('what our own request is blamed for is not unknown', async () => {
  answerOf('/transactions', { status: 400 })
  expect(await refresh()).toEqual({ is: 'later', why: 'http_400', afterMs: null })
})

test('the environment has its own account, and its own key', async () => {
  const context = { ...fixture.context, environment: 'sandbox' as const }
  expect(await refresh(subscription, context)).toMatchObject({ is: 'unknown' })
  expect(fixture.sandbox.requests).toHaveLength(1)
  const { subscribe, id } = paddleStory(fixture.sandbox)
  subscribe(START)
  expect(await refresh(id, context)).toMatchObject({ is: 'reports', environment: 'sandbox' })
  expect(fixture.live.requests).toHaveLength(0)
  expect(await refresh()).toMatchObject({ is: 'reports', environment: 'production' })
})

test.each([
  ['no key', fixture => fixture.settingsBut({ api_key: null })],
  ['a key of the sandbox', fixture => fixture.settingsBut({ api_key: 'pdl_sdbx_apikey_1' })],
  ['switched off', fixture => settingsWith({ api_key: fixture.live.apiKey }, false)],
] as [string, (fixture: PaddleFixture) => PaddleFixture['settings']][])('not connected, nobody is asked: %s', async (_, settings) => {
  expect(await refresh(subscription, { ...fixture.context, settings: settings(fixture) })).toEqual({ is: 'refused', why: 'not_connected' })
  expect(fixture.live.requests).toEqual([])
})

test('whether a key is of the account', async () => {
  const check = (settings = fixture.settings) => fixture.paddle.checkKey({ ...fixture.context, settings })
  expect(await check()).toEqual({ is: 'accepted' })
  expect(await check(fixture.settingsBut({ api_key: fixture.sandbox.apiKey }))).toEqual({ is: 'refused', why: 'http_403' })
  fixture.live.instead = () => ({ status: 200, body: 'Paddle' })
  expect(await check()).toEqual({ is: 'accepted' })
  fixture.live.instead = () => ({ status: 503 })
  expect(await check()).toMatchObject({ is: 'later' })
})

test('store time is ours where Paddle’s is far off', async () => {
  fixture.live.date = 'Thu, 01 Jan 2026 10:00:00 GMT'
  const before = Date.now()
  const [report] = reportsOf(await refresh())
  expect(report!.statements[0]!.statedAt).toBeGreaterThanOrEqual(before)
})

test('the earliest of the answers counts', async () => {
  const second = Math.floor(Date.now() / 1000) * 1000
  fixture.live.instead = ({ path }) => {
    fixture.live.date = new Date(path.startsWith('/transactions') ? second - 60_000 : second).toUTCString()
    return undefined
  }
  const [report] = reportsOf(await refresh())
  expect(report!.statements[0]!.statedAt).toBe(second - 60_000 + 999)
})

test('an answer that does not come ends with the signal, in the midst of paging as well', async () => {
  for (const path of PATHS) {
    answerOf(path, 'hang')
    const controller = new AbortController()
    const requested = refresh(subscription, { ...fixture.context, signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(requested).rejects.toThrow('enough')
  }
})

test('a slow answer is waited for', async () => {
  fixture.live.instead = () => new Promise(resolve => setTimeout(() => resolve({ status: 500 }), 50))
  expect(await refresh()).toMatchObject({ is: 'later', why: 'http_500' })
})

test('an answer of megabytes is read as a whole', async () => {
  const transaction = paddleTransaction(fixture.live, START, [{ product: 'coins', price: '1', isOnce: true }])
  Object.assign(transaction, { filler: 'x'.repeat(3_000_000) })
  expect(reportsOf(await refresh(transaction.id))).toHaveLength(1)
})

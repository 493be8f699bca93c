import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { stripeStore } from '../../../../workflows/stores/stripe/client.ts'
import { reportsOf, settingsWith } from '../../../harness/stores/google-fixture.ts'
import { LIVE_KEY } from '../../../harness/stores/stripe.ts'
import { type StripeFixture, stripeFixture } from '../../../harness/stores/stripe-fixture.ts'
import { DAY_MS, stripeStory } from '../../../harness/stores/stripe-story.ts'
import type { VendorReply } from '../../../harness/vendor.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: StripeFixture
beforeAll(async () => {
  fixture = await stripeFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.server.clear()
  fixture.clock.now = START + DAY_MS
  const one = stripeStory(fixture.server)
  one.subscribe(START)
  one.refund(START + 60_000)
  one.dispute(START + 60_000, 'won')
})

const refresh = (queue = 'sub_1', context = fixture.context) => fixture.store.refresh(queue, context)
const error = (code: string) => ({ error: { type: 'invalid_request_error', code, message: code } })

const ANSWERS: [string, VendorReply, object][] = [
  [
    '429 with seconds',
    { status: 429, headers: { 'retry-after': '120' }, body: error('rate_limit') },
    { is: 'later', why: 'http_429_rate_limit', afterMs: 120_000 },
  ],
  ['429 without, and without an error', { status: 429, body: {} }, { is: 'later', why: 'http_429', afterMs: null }],
  ['500', { status: 500, body: {} }, { is: 'later', why: 'http_500', afterMs: null }],
  [
    '503 with seconds and no JSON',
    { status: 503, headers: { 'retry-after': '7' }, body: '<html>' },
    { is: 'later', why: 'http_503', afterMs: 7000 },
  ],
  [
    '409 while another request has the lock',
    { status: 409, body: error('lock_timeout') },
    { is: 'later', why: 'http_409_lock_timeout', afterMs: null },
  ],
  ['400', { status: 400, body: error('parameter_unknown') }, { is: 'later', why: 'http_400_parameter_unknown', afterMs: null }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1/' } }, { is: 'later', why: 'http_302', afterMs: null }],
  ['no JSON', { status: 200, body: '<html>' }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['another object', { status: 200, body: {} }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['an error as a success', { status: 200, body: error('odd') }, { is: 'later', why: 'answer_unreadable', afterMs: null }],
  ['cut off', 'cut', { is: 'later', why: 'connection_failed', afterMs: null }],
  ['401', { status: 401, body: error('api_key_expired') }, { is: 'refused', why: 'http_401_api_key_expired' }],
  ['403', { status: 403, body: error('more_permissions_required') }, { is: 'refused', why: 'http_403_more_permissions_required' }],
]

const REQUESTS = ['subscriptions/sub_1', 'invoices', 'charges', 'disputes'] as const
test.each(
  REQUESTS.flatMap(path => ANSWERS.map(([name, reply, answer]) => [path, name, reply, answer] as const)),
)('%s: %s', async (path, _, reply, answer) => {
  fixture.server.instead = request => (request.path === `/v1/${path}` ? reply : undefined)
  expect(await refresh()).toEqual(answer)
})

test('a request is tried once: the queue tries again', async () => {
  fixture.server.instead = () => ({ status: 503, body: {} })
  await refresh()
  expect(fixture.server.calls()).toEqual(['subscriptions/sub_1'])
})

test('a subscription that Stripe does not know', async () => {
  expect(await refresh('sub_9')).toMatchObject({ is: 'unknown' })
  fixture.server.instead = ({ path }) => (path.endsWith('/invoices') ? { status: 400, body: error('resource_missing') } : undefined)
  expect(await refresh()).toMatchObject({ is: 'unknown' })
})

test('what is no id of Stripe is never asked for', async () => {
  fixture.server.requests.length = 0
  for (const queue of ['', 'a/b', '../charges', 'sub_1?x=1', 'charge:', 'charge:a/b'])
    expect(await refresh(queue)).toMatchObject({ is: 'unknown' })
  expect(fixture.server.requests).toEqual([])
})

test.each([
  ['no key', {}],
  ['a key that cannot be sent', { api_key: 'sk_live_1\nX: y' }],
  ['a key of test mode only', { api_key: 'sk_test_123' }],
])('%s: refused', async (_, values) =>
  expect(await refresh('sub_1', { ...fixture.context, settings: settingsWith(values) })).toEqual({ is: 'refused', why: 'not_connected' }))

test('a store that is switched off is not asked', async () =>
  expect(await refresh('sub_1', { ...fixture.context, settings: settingsWith({ api_key: LIVE_KEY }, false) })).toMatchObject({
    is: 'refused',
  }))

test('a slow answer ends with the signal, whose reason is thrown', async () => {
  fixture.server.instead = () => 'hang'
  const aborted = new AbortController()
  const answer = refresh('sub_1', { ...fixture.context, signal: aborted.signal })
  setTimeout(() => aborted.abort(new Error('the lease is over')), 50)
  await expect(answer).rejects.toThrow('the lease is over')
  await expect(refresh('sub_1', { ...fixture.context, signal: aborted.signal })).rejects.toThrow('the lease is over')
})

test('nothing listens', async () => {
  const store = stripeStore({ outgoing: fixture.out, apiUrl: 'http://127.0.0.1:9', now: () => fixture.clock.now })
  expect(await store.refresh('sub_1', fixture.context)).toEqual({ is: 'later', why: 'connection_failed', afterMs: null })
})

test.each([
  ['the end of the second of the earliest answer', -60_000, (at: number) => Math.floor(at / 1000) * 1000 - 60_000 + 999],
  ['our time where theirs is over 5 min off', -301_000, (at: number) => at],
])('store time: %s', async (_, off, expected) => {
  const now = Date.parse('2026-05-01T12:00:00.250Z')
  fixture.clock.now = now
  let answers = 0
  const date = () => new Date(now + off + 1000 * answers++).toUTCString()
  fixture.server.instead = request => {
    if (request.path !== '/v1/subscriptions/sub_1') return undefined
    const body = { ...fixture.server.subscriptions.get('sub_1')!, customer: 'cus_sub_1' }
    return { status: 200, body, headers: { date: date() } }
  }
  expect(reportsOf(await refresh())[0]!.statements[0]!.statedAt).toBe(expected(now))
})

const QUEUES: [string, string[]][] = [
  ['charge:ch_in_sub_1_1', ['charges/ch_in_sub_1_1', 'invoice_payments']],
  ['payment_intent:pi_in_sub_1_1', ['invoice_payments']],
  ['invoice:in_sub_1_1', ['invoices/in_sub_1_1']],
  ['sub_1:si_9', []],
]
test.each(QUEUES)('the queue %s leads to its subscription', async (queue, requested) => {
  fixture.server.requests.length = 0
  const [report] = reportsOf(await refresh(queue))
  expect(report).toMatchObject({ lineage: 'sub_1', aliases: requested.length > 0 ? [queue] : [] })
  expect(fixture.server.calls().slice(0, requested.length + 1)).toEqual([...requested, 'subscriptions/sub_1'])
})

test('a payment for something else has no lineages; one that is gone is unknown', async () => {
  fixture.server.invoicePayments.clear()
  expect(await refresh('charge:ch_in_sub_1_1')).toEqual({ is: 'reports', environment: 'production', reports: [] })
  fixture.server.charges.set('ch_2', { ...fixture.server.charges.get('ch_in_sub_1_1')!, id: 'ch_2', payment_intent: null })
  expect(await refresh('charge:ch_2')).toEqual({ is: 'reports', environment: 'production', reports: [] })
  expect(await refresh('charge:ch_3')).toMatchObject({ is: 'unknown' })
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { settingsWith } from '../../../harness/stores/google-fixture.ts'
import { LIVE_KEY, TEST_KEY } from '../../../harness/stores/stripe.ts'
import {
  arrivalOf,
  type EventOptions,
  eventBody,
  KEYS,
  LIVE_SECRET,
  SANDBOX_SECRET,
  type Signing,
  type StripeFixture,
  stripeFixture,
} from '../../../harness/stores/stripe-fixture.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const SECOND = 1000
let fixture: StripeFixture
beforeAll(async () => {
  fixture = await stripeFixture()
})
afterAll(() => fixture.close())

const SUBSCRIPTION = { id: 'sub_1', object: 'subscription' }
const bodyOf = (options: Partial<EventOptions> = {}) =>
  eventBody('customer.subscription.updated', SUBSCRIPTION, { at: NOW - 5000, ...options })
const BODY = bodyOf()
const SANDBOX_BODY = bodyOf({ livemode: false })

/** The answer to a push that is signed and received now unless told otherwise. */
async function verified(body: Uint8Array = BODY, signing: Partial<Signing> = {}, settings = fixture.settings) {
  fixture.clock.now = signing.receivedAt ?? NOW
  return fixture.store.verify(await arrivalOf(body, { at: NOW, receivedAt: NOW, ...signing }), settings)
}

test('a right push is accepted under the id of its event, with its type and queue', async () => {
  expect(await verified()).toEqual({
    is: 'accepted',
    notification: {
      id: 'evt_1',
      type: 'customer.subscription.updated',
      subtype: null,
      environment: 'production',
      queue: 'sub_1',
      statedAt: NOW - 5000,
    },
  })
})

test('the secret of the sandbox accepts test mode', async () => {
  const gate = await verified(SANDBOX_BODY, { secret: SANDBOX_SECRET })
  expect(gate).toMatchObject({ is: 'accepted', notification: { environment: 'sandbox' } })
})

test.each([
  ['299 s ago', -299],
  ['300 s ago', -300],
  ['299 s ahead', 299],
  ['300 s ahead', 300],
])('accepted: signed %s', async (_, seconds) => expect((await verified(BODY, { at: NOW + seconds * SECOND })).is).toBe('accepted'))

test.each<[string, Uint8Array, Partial<Signing>]>([
  ['signed 301 s ago', BODY, { at: NOW - 301 * SECOND }],
  ['signed 301 s ahead', BODY, { at: NOW + 301 * SECOND }],
  ['another secret', BODY, { secret: 'whsec_other' }],
  ['a changed byte', Buffer.from(BODY.toString().replace('sub_1', 'sub_2')), { signed: BODY }],
  ['the same JSON, written again', Buffer.from(JSON.stringify(JSON.parse(BODY.toString()), null, 2)), { signed: BODY }],
  ['an empty body', new Uint8Array(), { signed: BODY }],
])('unauthorized: %s', async (_, body, signing) => expect(await verified(body, signing)).toEqual({ is: 'unauthorized' }))

test.each([
  '',
  't=1',
  'v1=00',
  'nonsense',
  `t=${NOW / 1000},v1=`,
  `t=${NOW / 1000},v1`,
  `t=${NOW / 1000},v1==`,
  ',',
  `t=${NOW / 1000},v0=00`,
  't=x,v1=00',
])('unauthorized: the header %j', async header => {
  const arrival = { ...(await arrivalOf(BODY, { at: NOW })), headers: header === '' ? {} : { 'stripe-signature': header } }
  expect(await fixture.store.verify(arrival, fixture.settings)).toEqual({ is: 'unauthorized' })
})

test('two signatures, while a secret is rolled at Stripe: one of them suffices', async () => {
  const [old, right] = await Promise.all([arrivalOf(BODY, { secret: 'whsec_old', at: NOW }), arrivalOf(BODY, { at: NOW })])
  const of = ({ headers }: typeof right) => headers['stripe-signature']!
  const both = { ...right, headers: { 'stripe-signature': `${of(old)},${of(right).split(',')[1]}` } }
  fixture.clock.now = NOW
  expect((await fixture.store.verify(both, fixture.settings)).is).toBe('accepted')
})

test('a second time in the header is what is signed, and must be in time as well', async () => {
  const { headers, ...rest } = await arrivalOf(BODY, { at: NOW + 400 * SECOND })
  const header = `t=${NOW / 1000},${headers['stripe-signature']}`
  expect(await fixture.store.verify({ ...rest, headers: { 'stripe-signature': header } }, fixture.settings)).toEqual({ is: 'unauthorized' })
})

test.each([
  ['a live body under the secret of the sandbox', BODY, SANDBOX_SECRET],
  ['a test body under the secret of live mode', SANDBOX_BODY, LIVE_SECRET],
])('foreign: %s', async (_, body, secret) => expect(await verified(body, { secret })).toEqual({ is: 'foreign', reason: 'livemode' }))

test('one secret for both endpoints: the mode tells the environment', async () => {
  const settings = settingsWith({ ...KEYS, sandbox_webhook_secret: LIVE_SECRET })
  expect(await verified(BODY, {}, settings)).toMatchObject({ notification: { environment: 'production' } })
  expect(await verified(SANDBOX_BODY, {}, settings)).toMatchObject({ notification: { environment: 'sandbox' } })
})

test('foreign: of a connected account', async () =>
  expect(await verified(bodyOf({ account: 'acct_1' }))).toEqual({ is: 'foreign', reason: 'connect_account' }))

test('malformed: a thin event', async () => {
  const body = Buffer.from(
    JSON.stringify({ id: 'evt_1', object: 'v2.core.event', type: 'v1.invoice.paid', created: '2026-06-01T00:00:00Z' }),
  )
  expect(await verified(body)).toMatchObject({ is: 'malformed', message: expect.stringMatching(/thin/) })
})

test.each([
  ['no JSON', 'hello'],
  ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['no object', '[]'],
  ['another object', '{"object":"charge","id":"ch_1"}'],
  ['no id', JSON.stringify({ ...JSON.parse(BODY.toString()), id: undefined })],
  ['no data', JSON.stringify({ ...JSON.parse(BODY.toString()), data: {} })],
  ['no mode', JSON.stringify({ ...JSON.parse(BODY.toString()), livemode: 'yes' })],
  ['no time', JSON.stringify({ ...JSON.parse(BODY.toString()), created: '1' })],
])('malformed: %s', async (_, body) => {
  const bytes = Buffer.from(body as string)
  expect((await verified(bytes)).is).toBe('malformed')
  // Who could not sign it does not learn that.
  expect((await verified(bytes, { secret: 'whsec_other' })).is).toBe('unauthorized')
})

test('what is of no interest is ignored', async () => {
  const body = eventBody('customer.created', { id: 'cus_1', object: 'customer' }, { at: NOW })
  expect(await verified(body)).toEqual({ is: 'ignored', type: 'customer.created', isTest: false })
})

test.each([
  ['off', settingsWith(KEYS, false)],
  ['not_connected', settingsWith({ webhook_secret: LIVE_SECRET, sandbox_webhook_secret: SANDBOX_SECRET })],
  ['webhook_secret_missing', settingsWith({ api_key: LIVE_KEY })],
  // Live mode is connected only by the key of the other mode.
  ['not_connected', settingsWith({ webhook_secret: LIVE_SECRET, sandbox_api_key: TEST_KEY })],
])('unavailable: %s', async (reason, settings) => expect(await verified(BODY, {}, settings)).toEqual({ is: 'unavailable', reason }))

test('a key of test mode counts with its secret as the pair of the sandbox', async () => {
  const settings = settingsWith({ api_key: TEST_KEY, webhook_secret: LIVE_SECRET })
  expect(await verified(SANDBOX_BODY, {}, settings)).toMatchObject({ notification: { environment: 'sandbox' } })
  expect(await verified(BODY, {}, settings)).toEqual({ is: 'foreign', reason: 'livemode' })
})

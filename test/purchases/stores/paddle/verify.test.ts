import { afterAll, beforeAll, expect, test } from 'vitest'
import { settingsWith } from '../../../harness/stores/google-fixture.ts'
import { paddleId, paddleSignature } from '../../../harness/stores/paddle.ts'
import { PADDLE_SECRETS, type PaddleFixture, paddleArrival, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'

const NOW = Date.parse('2026-03-01T10:00:00.250Z')
const ID = paddleId('evt', NOW, 1)
const SUBSCRIPTION = paddleId('sub', NOW, 1)
const body = (fields: object = {}) =>
  Buffer.from(
    JSON.stringify({
      event_id: ID,
      event_type: 'subscription.updated',
      occurred_at: '2026-03-01T10:00:00.123456Z',
      notification_id: paddleId('ntf', NOW, 1),
      data: { id: SUBSCRIPTION },
      ...fields,
    }),
  )
let fixture: PaddleFixture
beforeAll(async () => {
  fixture = await paddleFixture()
})
afterAll(() => fixture.close())

const signedWith = (secrets: string | string[], of = body()) => paddleArrival(of, NOW, paddleSignature(of, secrets, NOW))
const verify = (arrival = paddleArrival(body(), NOW), settings = fixture.settings) => fixture.paddle.verify(arrival, settings)

test('a notification is recorded under the event’s id, in the queue of its subscription, at the time of the event', async () => {
  expect(await verify()).toEqual({
    is: 'accepted',
    notification: {
      id: ID,
      type: 'subscription.updated',
      subtype: null,
      environment: 'production',
      queue: SUBSCRIPTION,
      statedAt: Date.parse('2026-03-01T10:00:00.123Z'),
    },
  })
})

test('the secret tells the environment', async () => {
  expect(await verify(signedWith(PADDLE_SECRETS.sandbox_webhook_secret))).toMatchObject({ notification: { environment: 'sandbox' } })
  expect(await verify(signedWith(['pdl_old', PADDLE_SECRETS.webhook_secret]))).toMatchObject({
    notification: { environment: 'production' },
  })
})

test('keys of the sandbox in the fields of production are the sandbox’s', async () => {
  const settings = settingsWith({ api_key: 'pdl_sdbx_apikey_1', webhook_secret: 'pdl_ntfset_main' })
  expect(await verify(signedWith('pdl_ntfset_main'), settings)).toMatchObject({ notification: { environment: 'sandbox' } })
})

const { sandbox_webhook_secret, webhook_secret } = PADDLE_SECRETS
test.each<[string, Record<string, string | null>, string]>([
  ['no secret', { webhook_secret: null, sandbox_webhook_secret: null }, 'webhook_secret'],
  ['no key', { api_key: null, sandbox_api_key: null }, 'not_connected'],
  ['no key for the environment', { api_key: null }, 'not_connected'],
])('unavailable: %s', async (_, values, reason) => {
  expect(await verify(undefined, fixture.settingsBut(values))).toEqual({ is: 'unavailable', reason })
})

test('unavailable: switched off', async () => {
  expect(await verify(undefined, settingsWith({ webhook_secret, sandbox_webhook_secret }, false))).toEqual({
    is: 'unavailable',
    reason: 'off',
  })
})

test.each([
  ['the secret of nobody', signedWith('pdl_ntfset_other')],
  ['no signature', { ...paddleArrival(body(), NOW), headers: {} }],
  ['too late', { ...paddleArrival(body(), NOW), receivedAtMs: NOW + 301_000 }],
  ['no signature, and no JSON', { ...paddleArrival(Buffer.from('{'), NOW), headers: {} }],
])('unauthorized: %s', async (_, arrival) => expect(await verify(arrival)).toEqual({ is: 'unauthorized' }))

test.each([
  ['no JSON', Buffer.from('{"event_id":')],
  ['no UTF-8', Buffer.from([0xff, 0xfe])],
  ['a list', Buffer.from('[]')],
  ['null', Buffer.from('null')],
  ['no id', body({ event_id: undefined })],
  ['an empty id', body({ event_id: '' })],
  ['no type', body({ event_type: 7 })],
  ['no time', body({ occurred_at: 'yesterday' })],
  ['no data', body({ data: null })],
  ['a list as data', body({ data: [] })],
])('malformed: %s', async (_, of) => expect(await verify(paddleArrival(of, NOW))).toMatchObject({ is: 'malformed' }))

const TRANSACTION = paddleId('txn', NOW, 1)
test.each([
  ['transaction.paid', { id: TRANSACTION, subscription_id: null }, TRANSACTION],
  ['transaction.completed', { id: TRANSACTION, subscription_id: SUBSCRIPTION }, SUBSCRIPTION],
  ['adjustment.created', { id: 'adj_1', transaction_id: TRANSACTION, subscription_id: SUBSCRIPTION }, SUBSCRIPTION],
  ['adjustment.updated', { id: 'adj_1', transaction_id: TRANSACTION, subscription_id: null }, TRANSACTION],
  ['subscription.created', { id: SUBSCRIPTION, transaction_id: TRANSACTION }, SUBSCRIPTION],
  ['subscription.created', {}, `event:${ID}`],
])('the queue of %s', async (event_type, data, queue) => {
  expect(await verify(paddleArrival(body({ event_type, data }), NOW))).toMatchObject({ notification: { queue } })
})

test.each([
  'customer.created',
  'transaction.created',
  'transaction.ready',
  'price.updated',
  'subscription.unheard_of',
  'payout.paid',
])('ignored: %s', async event_type => {
  expect(await verify(paddleArrival(body({ event_type }), NOW))).toEqual({ is: 'ignored', type: event_type, isTest: false })
})

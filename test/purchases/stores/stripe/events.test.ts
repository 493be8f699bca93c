import { expect, test } from 'vitest'
import type { NotificationRead } from '../../../../workflows/stores/store-client.ts'
import { decodeStripeEvent, STRIPE_EVENT_TYPES, signedStripeEvent } from '../../../../workflows/stores/stripe/events.ts'
import { readStripeNotification } from '../../../../workflows/stores/stripe/read-notification.ts'
import { type EventOptions, eventBody } from '../../../harness/stores/stripe-fixture.ts'

const AT = Date.parse('2026-06-01T00:00:00Z')
const SUBSCRIPTION = { id: 'sub_1', object: 'subscription', cancel_at_period_end: false, cancel_at: null, canceled_at: null }
const INVOICE = {
  id: 'in_1',
  object: 'invoice',
  billing_reason: 'subscription_cycle',
  parent: { type: 'subscription_details', subscription_details: { subscription: 'sub_1' } },
}

function queueOf(type: string, object: object): string | null {
  const event = decodeStripeEvent(eventBody(type, object, { at: AT }))
  if (typeof event === 'string') throw new Error(event)
  return signedStripeEvent(event)?.queue ?? null
}

function read(type: string, object: object, options: Partial<EventOptions> = {}): NotificationRead {
  const body = eventBody(type, object, { at: AT, ...options })
  return readStripeNotification({ id: 'evt_1', type, subtype: null, statedAt: AT, body })
}

const SCHEDULE = { id: 'sub_sched_1', object: 'subscription_schedule', subscription: 'sub_1' }
const OBJECTS: [RegExp, object, string][] = [
  [/^customer\.subscription\./, SUBSCRIPTION, 'sub_1'],
  [/^subscription_schedule\./, SCHEDULE, 'sub_1'],
  [/^checkout\./, { id: 'cs_1', object: 'checkout.session', mode: 'subscription', subscription: 'sub_1' }, 'sub_1'],
  [/^invoice\./, INVOICE, 'sub_1'],
  [/^charge\.refunded$/, { id: 'ch_1', object: 'charge', payment_intent: 'pi_1' }, 'charge:ch_1'],
  [/^refund\.|^charge\.refund\./, { id: 're_1', object: 'refund', charge: 'ch_1', payment_intent: 'pi_1' }, 'charge:ch_1'],
  [/^credit_note\./, { id: 'cn_1', object: 'credit_note', invoice: 'in_1' }, 'invoice:in_1'],
  [/^charge\.dispute\./, { id: 'du_1', object: 'dispute', charge: 'ch_1', payment_intent: 'pi_1' }, 'charge:ch_1'],
]

test.each(STRIPE_EVENT_TYPES)('%s asks for a refresh in its queue', type => {
  const [, object, queue] = OBJECTS.find(([pattern]) => pattern.test(type))!
  expect(queueOf(type, object)).toBe(queue)
  expect(read(type, object)).toMatchObject({ is: 'read', environment: 'production', refresh: true })
})

test('the events of the specification are all of interest', () => {
  const named = `customer.subscription.created customer.subscription.updated customer.subscription.deleted subscription_schedule.updated
    checkout.session.completed invoice.paid invoice.payment_succeeded invoice.payment_failed invoice.payment_action_required invoice.finalized
    invoice.updated invoice.voided invoice.marked_uncollectible charge.refunded refund.created refund.updated refund.failed charge.refund.updated
    credit_note.created credit_note.voided charge.dispute.closed charge.dispute.funds_reinstated`
  expect(named.split(/\s+/).filter(type => !STRIPE_EVENT_TYPES.includes(type))).toEqual([])
})

test('types of later API versions about subscriptions ask for a refresh, too', () => {
  expect(queueOf('customer.subscription.price_migrated', SUBSCRIPTION)).toBe('sub_1')
})

test.each<[string, object]>([
  ['charge.dispute.created', { id: 'du_1', object: 'dispute', charge: 'ch_1' }],
  ['charge.succeeded', { id: 'ch_1', object: 'charge' }],
  ['invoice.created', INVOICE],
  ['invoice.upcoming', INVOICE],
  ['payment_intent.succeeded', { id: 'pi_1', object: 'payment_intent' }],
  ['customer.updated', { id: 'cus_1', object: 'customer' }],
  ['checkout.session.completed', { id: 'cs_1', object: 'checkout.session', mode: 'payment', subscription: null }],
  // Of no subscription.
  ['invoice.paid', { id: 'in_1', object: 'invoice', parent: null }],
  ['invoice.paid', { id: 'in_1', object: 'invoice', subscription: null }],
  [
    'subscription_schedule.created',
    { id: 'sub_sched_1', object: 'subscription_schedule', subscription: null, released_subscription: null },
  ],
])('ignored: %s %j', (type, object) => {
  expect(queueOf(type, object)).toBeNull()
  expect(read(type, object)).toEqual({ is: 'ignored', type })
})

test('payloads of old API versions: an invoice names its subscription itself, objects are expanded', () => {
  expect(queueOf('invoice.paid', { id: 'in_1', object: 'invoice', subscription: 'sub_1' })).toBe('sub_1')
  expect(queueOf('invoice.paid', { id: 'in_1', object: 'invoice', subscription: { id: 'sub_1' } })).toBe('sub_1')
  expect(queueOf('refund.updated', { id: 're_1', object: 'refund', charge: { id: 'ch_1' } })).toBe('charge:ch_1')
  expect(queueOf('refund.updated', { id: 're_1', object: 'refund', charge: null, payment_intent: 'pi_1' })).toBe('payment_intent:pi_1')
  expect(queueOf('subscription_schedule.released', { ...SCHEDULE, subscription: null, released_subscription: 'sub_2' })).toBe('sub_2')
})

const statementsOf = (found: NotificationRead) => (found.is === 'read' ? found.reports.flatMap(({ statements }) => statements) : [])
const SECONDS = AT / 1000

test.each<[string, string, object, object | undefined, object[]]>([
  [
    'off at the time of the cancellation',
    'updated',
    { cancel_at_period_end: true, canceled_at: SECONDS - 7 },
    { cancel_at_period_end: false },
    [{ statedAt: AT - 7000, reported: { autoRenews: false } }],
  ],
  ['off by a date', 'updated', { cancel_at: SECONDS + 99 }, { cancel_at: null }, [{ statedAt: AT, reported: { autoRenews: false } }]],
  ['on', 'updated', {}, { cancel_at_period_end: true, canceled_at: SECONDS - 7 }, [{ statedAt: AT, reported: { autoRenews: true } }]],
  ['on, a date is cleared', 'updated', {}, { cancel_at: SECONDS + 99 }, [{ statedAt: AT, reported: { autoRenews: true } }]],
  ['another change', 'updated', { cancel_at_period_end: true, canceled_at: SECONDS - 7 }, { metadata: {} }, []],
  ['a change that is not told', 'updated', { cancel_at_period_end: true, canceled_at: SECONDS - 7 }, undefined, []],
  ['created', 'created', {}, undefined, []],
  ['created with an end', 'created', { cancel_at: SECONDS + 99 }, undefined, [{ statedAt: AT, reported: { autoRenews: false } }]],
  ['ended', 'deleted', { canceled_at: SECONDS }, undefined, [{ statedAt: AT, reported: { gaveUp: true } }]],
  [
    'ended as planned',
    'deleted',
    { cancel_at_period_end: true, canceled_at: SECONDS - 99 },
    undefined,
    [
      { statedAt: AT - 99_000, reported: { autoRenews: false } },
      { statedAt: AT, reported: { gaveUp: true } },
    ],
  ],
])('auto-renew: %s', (_, type, changes, before, expected) => {
  const found = read(`customer.subscription.${type}`, { ...SUBSCRIPTION, ...changes }, before && { before })
  expect(statementsOf(found)).toEqual(expected.map(reported => ({ kind: 'renewal', origin: 'push', subject: '', ...reported })))
  if (found.is === 'read' && expected.length > 0)
    expect(found.reports).toMatchObject([{ lineage: 'sub_1', platform: 'stripe', isWhole: false }])
})

test('a failed charge of a renewal: the period of its invoice is one after billing retry', () => {
  expect(statementsOf(read('invoice.payment_failed', INVOICE))).toEqual([
    {
      kind: 'period',
      origin: 'push',
      statedAt: AT,
      subject: 'in_1',
      ids: { transaction: null, originalTransaction: null, token: null, order: 'in_1', subscription: 'sub_1', storeType: null },
      reported: { isRecovered: true },
    },
  ])
  // The first charge, or one in the middle of a period, is none of a renewal.
  for (const billing_reason of ['subscription_create', 'subscription_update', 'manual'])
    expect(statementsOf(read('invoice.payment_failed', { ...INVOICE, billing_reason }))).toEqual([])
})

test('test mode is the sandbox', () =>
  expect(read('customer.subscription.updated', SUBSCRIPTION, { livemode: false })).toMatchObject({ environment: 'sandbox' }))

test('a recorded event that cannot be read is named by its id, without its content', () => {
  const recorded = { id: 'evt_9', type: 'invoice.paid', subtype: null, statedAt: AT, body: Buffer.from('secret') }
  expect(() => readStripeNotification(recorded)).toThrow('notification evt_9 cannot be read: must be JSON')
})

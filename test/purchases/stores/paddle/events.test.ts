import {
  EventName,
  type IAdjustmentResponse,
  type IEventsResponse,
  type ISubscriptionResponse,
  type ITransactionResponse,
} from '@paddle/paddle-node-sdk'
import { expect, expectTypeOf, test } from 'vitest'
import type { PaddleAdjustment, PaddleEvent, PaddleSubscription, PaddleTransaction } from '../../../../workflows/stores/paddle/answers.ts'
import { PADDLE_EVENT_TYPES } from '../../../../workflows/stores/paddle/event.ts'
import { readPaddleEvent } from '../../../../workflows/stores/paddle/read-event.ts'
import { paddleId } from '../../../harness/stores/paddle.ts'

const AT = Date.parse('2026-03-01T10:00:00.750Z')
const SUBSCRIPTION = paddleId('sub', AT, 1)
const TRANSACTION = paddleId('txn', AT, 1)
const read = (type: string, data: object) => {
  const event = { event_id: 'evt_1', event_type: type, occurred_at: new Date(AT).toISOString(), data }
  return readPaddleEvent({ id: 'evt_1', type, subtype: null, statedAt: AT, body: Buffer.from(JSON.stringify(event)) })
}
const reportedBy = (type: string, data: object) => {
  const found = read(type, data)
  if (found.is !== 'read') throw new Error('ignored')
  expect(found).toMatchObject({ environment: null, refresh: true })
  return found.reports.flatMap(({ statements }) => statements)
}
const subscription = (fields: object = {}) => ({
  id: SUBSCRIPTION,
  status: 'active',
  scheduled_change: null,
  custom_data: { user_id: 'u1' },
  ...fields,
})
const renewal = (fields: object) => [{ kind: 'renewal', subject: '', statedAt: AT, origin: 'push', reported: fields }]
const scheduled = (action: string) => ({ scheduled_change: { action, effective_at: '2026-04-01T00:00:00Z' } })

test.each(['created', 'activated', 'trialing', 'imported', 'past_due'])('subscription.%s asks for a refresh', type => {
  expect(reportedBy(`subscription.${type}`, subscription())).toEqual([])
})

test.each<[string, object, object[]]>([
  ['a cancellation', scheduled('cancel'), renewal({ autoRenews: false })],
  ['no scheduled change any more', {}, renewal({ autoRenews: true })],
  ['the same in a trial', { status: 'trialing' }, renewal({ autoRenews: true })],
  ['a charge that fails is no cancellation', { status: 'past_due' }, renewal({ autoRenews: true })],
  ['a pause is none', scheduled('pause'), []],
  ['the end of a pause is none', { status: 'paused', ...scheduled('resume') }, []],
  ['paused is none', { status: 'paused' }, []],
  ['an unknown status says nothing', { status: 'frozen' }, []],
  ['ended', { status: 'canceled' }, renewal({ autoRenews: false })],
])('subscription.updated: %s', (_, fields, statements) => {
  expect(reportedBy('subscription.updated', subscription(fields))).toEqual(statements)
})

test('subscription.paused and subscription.resumed say the pause and its end', () => {
  expect(reportedBy('subscription.paused', subscription({ status: 'paused' }))).toEqual(renewal({ isPaused: true }))
  expect(reportedBy('subscription.resumed', subscription())).toEqual(renewal({ isPaused: false }))
})

test('subscription.canceled: off, and the run has ended', () => {
  expect(reportedBy('subscription.canceled', subscription({ status: 'canceled' }))).toEqual(
    renewal({ autoRenews: false, gaveUp: true, isPaused: null }),
  )
  expect(read('subscription.canceled', subscription({ status: 'canceled' }))).toMatchObject({
    reports: [{ platform: 'paddle', lineage: SUBSCRIPTION, aliases: [], accountId: 'u1', isWhole: false }],
  })
})

test.each([
  'completed',
  'paid',
  'billed',
  'updated',
  'revised',
  'canceled',
  'payment_failed',
  'past_due',
])('transaction.%s asks for a refresh, and begins no lineage by itself', type => {
  expect(read(`transaction.${type}`, { id: TRANSACTION, status: type, subscription_id: null })).toMatchObject({
    reports: [],
    refresh: true,
  })
  expect(reportedBy(`transaction.${type}`, { id: TRANSACTION, subscription_id: SUBSCRIPTION })).toEqual([])
})

test.each(['created', 'updated'])('adjustment.%s asks for a refresh', type => {
  expect(
    reportedBy(`adjustment.${type}`, { id: 'adj_1', action: 'refund', status: 'pending_approval', transaction_id: TRANSACTION }),
  ).toEqual([])
})

test('the entities have the types that the SDK gives them', () => {
  expectTypeOf<ISubscriptionResponse>().toExtend<PaddleSubscription>()
  expectTypeOf<ITransactionResponse>().toExtend<PaddleTransaction>()
  expectTypeOf<IAdjustmentResponse>().toExtend<PaddleAdjustment>()
  expectTypeOf<IEventsResponse<Record<string, unknown>>>().toExtend<PaddleEvent>()
})

test('Paddle has events of these names', () => {
  expect(new Set(PADDLE_EVENT_TYPES).size).toBe(19)
  for (const type of PADDLE_EVENT_TYPES) expect(Object.values<string>(EventName)).toContain(type)
})

test('all others are ignored', () => {
  for (const type of ['customer.updated', 'transaction.created', 'transaction.ready', 'discount.created', 'subscription.new'])
    expect(read(type, { id: SUBSCRIPTION })).toEqual({ is: 'ignored', type })
})

test('what cannot be understood throws, without its content', () => {
  const broken = { id: 'evt_1', type: 'transaction.paid', subtype: null, statedAt: AT, body: Buffer.from('{"secret') }
  expect(() => readPaddleEvent(broken)).toThrow(/^event evt_1 cannot be read: it must be JSON$/)
  expect(() => read('subscription.updated', { status: 'active' })).toThrow('names no subscription')
})

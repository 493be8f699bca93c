import { expect, test } from 'vitest'
import { decodePush, signedNotification } from '../../../../workflows/stores/google/notification.ts'
import { readPlayNotification } from '../../../../workflows/stores/google/read-notification.ts'
import type { RecordedNotification } from '../../../../workflows/stores/store-client.ts'
import { PACKAGE, pushBody } from '../../../harness/stores/google.ts'

const AT = Date.parse('2026-03-01T10:00:00.750Z')
const recorded = (notification: object): RecordedNotification => {
  const body = pushBody({ eventTimeMillis: AT, ...notification }, 'message-1')
  return { id: 'message-1', type: 'subscription', subtype: null, statedAt: AT, body }
}
const subscription = (notificationType: number) => ({
  subscriptionNotification: { version: '1.0', notificationType, purchaseToken: 'token-1' },
})

/** What the notification says; every one that is read asks for a refresh. */
function reportedBy(notification: object) {
  const read = readPlayNotification(recorded(notification))
  if (read.is !== 'read') throw new Error('ignored')
  expect(read).toMatchObject({ environment: null, refresh: true })
  const [report] = read.reports
  expect(report).toMatchObject({ platform: 'play_store', aliases: [], isWhole: false })
  return report!
}

const renewal = (fields: object) => ({ kind: 'renewal', subject: '', statedAt: AT, origin: 'push', reported: fields })
const period = (fields: object) => ({ kind: 'period', subject: '', statedAt: AT, origin: 'push', reported: fields })
const SINCE = { retrySince: '2026-03-01T10:00:00Z' }

test.each([
  [1, 'RECOVERED', [period({ isRecovered: true })]],
  [2, 'RENEWED', []],
  [3, 'CANCELED', [renewal({ autoRenews: false })]],
  [4, 'PURCHASED', []],
  [5, 'ON_HOLD', [period(SINCE)]],
  [6, 'IN_GRACE_PERIOD', [period(SINCE)]],
  [7, 'RESTARTED', [renewal({ autoRenews: true, gaveUp: false })]],
  [8, 'PRICE_CHANGE_CONFIRMED', []],
  [9, 'DEFERRED', []],
  [10, 'PAUSED', [{ kind: 'renewal', reported: { isPaused: true } }]],
  [11, 'PAUSE_SCHEDULE_CHANGED', []],
  [12, 'REVOKED', [period({ ends: '2026-03-01T10:00:00Z' }), renewal({ autoRenews: false })]],
  [13, 'EXPIRED', [renewal({ autoRenews: false, gaveUp: true })]],
  [17, 'ITEMS_CHANGED', []],
  [18, 'CANCELLATION_SCHEDULED', [renewal({ autoRenews: false })]],
  [19, 'PRICE_CHANGE_UPDATED', []],
  [20, 'PENDING_PURCHASE_CANCELED', []],
  [22, 'PRICE_STEP_UP_CONSENT_UPDATED', []],
  [99, '99', []],
])('subscription %i %s', (number, subtype, statements) => {
  const report = reportedBy(subscription(number))
  expect(report.lineage).toBe('token-1')
  expect(report.statements).toHaveLength(statements.length)
  expect(report.statements).toMatchObject(statements)
  const decoded = decodePush(recorded(subscription(number)).body)
  expect(typeof decoded !== 'string' && signedNotification(decoded)).toMatchObject({ type: 'subscription', subtype, queue: 'token-1' })
})

test.each([
  [1, 'PURCHASED'],
  [2, 'CANCELED'],
  [7, '7'],
])('one-time product %i %s says nothing by itself', (notificationType, subtype) => {
  const notification = { oneTimeProductNotification: { version: '1.0', notificationType, purchaseToken: 'token-2', sku: 'coins' } }
  expect(reportedBy(notification)).toMatchObject({ lineage: 'token-2', statements: [], notices: [] })
  const decoded = decodePush(recorded(notification).body)
  expect(typeof decoded !== 'string' && signedNotification(decoded)).toMatchObject({ type: 'one_time_product', subtype, queue: 'token-2' })
})

test('a voided purchase names its order for the refresh', () => {
  const notification = { voidedPurchaseNotification: { purchaseToken: 'token-3', orderId: 'GPA.3..4', productType: 1, refundType: 1 } }
  expect(reportedBy(notification)).toMatchObject({ lineage: 'token-3', statements: [] })
  expect(readPlayNotification(recorded(notification))).toMatchObject({ transactions: ['GPA.3..4'] })
})

test('a refund under review is a notice, in the queue of its order', () => {
  const pendingRefundReviewNotification = {
    version: '1.0',
    pendingRefundToken: 'review-1',
    orderId: 'GPA.4',
    refundReason: 7,
    obfuscatedAccountId: 'user-4',
  }
  expect(reportedBy({ pendingRefundReviewNotification })).toMatchObject({
    lineage: 'order:GPA.4',
    accountId: 'user-4',
    statements: [],
    notices: [{ slug: 'refund_consumption', id: 'message-1', at: AT, subject: 'GPA.4' }],
  })
})

test.each([{ testNotification: { version: '1.0' } }, {}, { somethingNew: { purchaseToken: 'a' } }])('%j is ignored', notification => {
  expect(readPlayNotification(recorded(notification)).is).toBe('ignored')
  const decoded = decodePush(recorded(notification).body)
  expect(typeof decoded !== 'string' && signedNotification(decoded)).toBeNull()
})

test.each([String(AT), AT])('the time of the event as %j', eventTimeMillis =>
  expect(decodePush(recorded({ eventTimeMillis, ...subscription(2) }).body)).toMatchObject({ at: AT }))

test('the time of publication where the event has none', () => {
  const data = Buffer.from(JSON.stringify({ packageName: PACKAGE, ...subscription(2) })).toString('base64')
  const body = Buffer.from(JSON.stringify({ message: { data, message_id: 'm', publishTime: '2026-03-01T10:00:00.75Z' } }))
  expect(decodePush(body)).toMatchObject({ id: 'm', at: AT })
})

const wrapped = (inner: unknown, more: object = { messageId: 'm' }) =>
  JSON.stringify({ message: { data: Buffer.from(JSON.stringify(inner)).toString('base64'), ...more } })

test.each([
  ['no JSON', 'oops'],
  ['a list', '[]'],
  ['without wrapper', JSON.stringify({ packageName: PACKAGE, ...subscription(2) })],
  ['without message', JSON.stringify({ subscription: 's' })],
  ['without data', JSON.stringify({ message: { messageId: 'm' } })],
  ['with empty data', JSON.stringify({ message: { messageId: 'm', data: '' } })],
  ['without message id', wrapped({ packageName: PACKAGE, eventTimeMillis: 1, ...subscription(2) }, {})],
  ['data that is no JSON', JSON.stringify({ message: { messageId: 'm', data: 'b29wcw==' } })],
  ['data without package', wrapped({ eventTimeMillis: 1, ...subscription(2) })],
  ['data without time', wrapped({ packageName: PACKAGE, ...subscription(2) })],
  ['a negative time', wrapped({ packageName: PACKAGE, eventTimeMillis: -1, ...subscription(2) })],
  ['no token', wrapped({ packageName: PACKAGE, eventTimeMillis: 1, subscriptionNotification: { notificationType: 2 } })],
  ['a token that is no text', wrapped({ packageName: PACKAGE, eventTimeMillis: 1, oneTimeProductNotification: { purchaseToken: 7 } })],
  ['a void without token', wrapped({ packageName: PACKAGE, eventTimeMillis: 1, voidedPurchaseNotification: { orderId: 'a' } })],
  ['a review without order', wrapped({ packageName: PACKAGE, eventTimeMillis: 1, pendingRefundReviewNotification: {} })],
])('malformed: %s', (_, body) => expect(decodePush(Buffer.from(body))).toEqual(expect.any(String)))

test('bytes that are no UTF-8 are malformed', () => expect(decodePush(Uint8Array.of(0x7b, 0xff, 0x7d))).toEqual(expect.any(String)))

test('what cannot be read any more throws without its content', () => {
  const body = Buffer.from('{"message":{"data":"c2VjcmV0","messageId":"m"}}')
  const read = () => readPlayNotification({ id: 'm', type: 'subscription', subtype: null, statedAt: AT, body })
  expect(read).toThrow('notification m cannot be read')
  expect(read).not.toThrow(/secret|c2VjcmV0/)
})

import type { RecordedNotification, SignedNotification } from '../store-client.ts'

/** The fields of a Pub/Sub push that are read. `number`: Google's number of the notification's type. */
export type PlayContent =
  | { kind: 'subscription'; token: string; number: number }
  | { kind: 'one_time_product'; token: string; number: number }
  | { kind: 'voided_purchase'; token: string; order: string | null }
  | { kind: 'pending_refund_review'; order: string; account: string | null }
  | { kind: 'test' }
  | { kind: 'unknown' }

export type PlayNotification = { id: string; packageName: string; at: number; content: PlayContent }

/** Google's names of the numbers in `subscriptionNotification`. */
const SUBSCRIPTION_TYPES: Record<number, string> = {
  1: 'RECOVERED',
  2: 'RENEWED',
  3: 'CANCELED',
  4: 'PURCHASED',
  5: 'ON_HOLD',
  6: 'IN_GRACE_PERIOD',
  7: 'RESTARTED',
  8: 'PRICE_CHANGE_CONFIRMED',
  9: 'DEFERRED',
  10: 'PAUSED',
  11: 'PAUSE_SCHEDULE_CHANGED',
  12: 'REVOKED',
  13: 'EXPIRED',
  17: 'ITEMS_CHANGED',
  18: 'CANCELLATION_SCHEDULED',
  19: 'PRICE_CHANGE_UPDATED',
  20: 'PENDING_PURCHASE_CANCELED',
  22: 'PRICE_STEP_UP_CONSENT_UPDATED',
}
const ONE_TIME_TYPES: Record<number, string> = { 1: 'PURCHASED', 2: 'CANCELED' }

type Fields = Record<string, unknown>

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const fields = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null

function json(bytes: Uint8Array): Fields | null {
  try {
    return fields(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    return null
  }
}

/** Milliseconds as a number or a text. */
function millis(value: unknown): number | null {
  const ms = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0 ? ms : null
}

/** Null: the part has a known name, but lacks a required field. */
function contentOf(data: Fields): PlayContent | null {
  const subscription = fields(data.subscriptionNotification)
  const oneTime = fields(data.oneTimeProductNotification)
  for (const [kind, part] of [['subscription', subscription] as const, ['one_time_product', oneTime] as const]) {
    if (!part) continue
    const token = text(part.purchaseToken)
    return token === null ? null : { kind, token, number: Number(part.notificationType) }
  }
  const voided = fields(data.voidedPurchaseNotification)
  if (voided) {
    const token = text(voided.purchaseToken)
    return token === null ? null : { kind: 'voided_purchase', token, order: text(voided.orderId) }
  }
  const review = fields(data.pendingRefundReviewNotification)
  if (review) {
    const order = text(review.orderId)
    return order === null ? null : { kind: 'pending_refund_review', order, account: text(review.obfuscatedAccountId) }
  }
  return fields(data.testNotification) ? { kind: 'test' } : { kind: 'unknown' }
}

/** Decodes a push with Pub/Sub's wrapper. A text: the reason why it is no push. */
export function decodePush(body: Uint8Array): PlayNotification | string {
  const message = fields(json(body)?.message)
  if (!message) return 'must be a Pub/Sub push with its wrapper: { "message": { "data": … } }'
  const data = text(message.data)
  if (data === null) return 'message.data is required'
  const id = text(message.messageId) ?? text(message.message_id)
  if (id === null) return 'message.messageId is required'
  const inner = json(Buffer.from(data, 'base64'))
  const packageName = text(inner?.packageName)
  if (!inner || packageName === null) return 'message.data must be a base64 encoded developer notification with its packageName'
  const at = millis(inner.eventTimeMillis) ?? millis(Date.parse(String(message.publishTime)))
  if (at === null) return 'message.data must have eventTimeMillis'
  const content = contentOf(inner)
  return content ? { id, packageName, at, content } : 'message.data names no purchase'
}

/** The inner notification of a recorded one. */
export function decodeRecorded({ id, body }: RecordedNotification): PlayNotification {
  const decoded = decodePush(body)
  if (typeof decoded === 'string') throw new Error(`notification ${id} cannot be read: ${decoded}`)
  return decoded
}

export const orderQueue = (order: string): string => `order:${order}`

const named = (names: Record<number, string>, number: number): string => names[number] ?? String(number)

/** The fields under which a notification is recorded; null: it is ignored. */
export function signedNotification({ id, at, content }: PlayNotification): SignedNotification | null {
  const common = { id, environment: null, statedAt: at, type: content.kind }
  switch (content.kind) {
    case 'subscription':
      return { ...common, subtype: named(SUBSCRIPTION_TYPES, content.number), queue: content.token }
    case 'one_time_product':
      return { ...common, subtype: named(ONE_TIME_TYPES, content.number), queue: content.token }
    case 'voided_purchase':
      return { ...common, subtype: null, queue: content.token }
    case 'pending_refund_review':
      return { ...common, subtype: null, queue: orderQueue(content.order) }
    case 'test':
    case 'unknown':
      return null
    default:
      throw content satisfies never
  }
}

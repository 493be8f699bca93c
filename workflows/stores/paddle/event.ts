import type { SignedNotification } from '../store-client.ts'
import type { PaddleEvent } from './answers.ts'

/** The types of events that are read. All others are ignored. */
export const PADDLE_EVENT_TYPES = [
  ...['created', 'activated', 'trialing', 'imported', 'resumed', 'updated', 'past_due', 'paused', 'canceled'].map(
    of => `subscription.${of}`,
  ),
  ...['completed', 'paid', 'billed', 'updated', 'revised', 'canceled', 'payment_failed', 'past_due'].map(of => `transaction.${of}`),
  ...['created', 'updated'].map(of => `adjustment.${of}`),
]

type Fields = Record<string, unknown>

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Whether a value has the shape of an event. */
export function isPaddleEvent(value: unknown): value is PaddleEvent {
  if (typeof value !== 'object' || value === null) return false
  const { event_id, event_type, occurred_at, data } = value as Fields
  const hasTexts = text(event_id) !== null && text(event_type) !== null && !Number.isNaN(Date.parse(text(occurred_at) ?? ''))
  return hasTexts && typeof data === 'object' && data !== null && !Array.isArray(data)
}

const IDS = ['id', 'subscription_id', 'transaction_id', 'customer_id']

/** The error in the ids of an event; null: none. */
function wrongId({ event_type, data }: PaddleEvent): string | null {
  const wrong = PADDLE_EVENT_TYPES.includes(event_type) ? IDS.find(name => data[name] != null && typeof data[name] !== 'string') : undefined
  return wrong === undefined ? null : `must have data.${wrong} as a text, as Paddle Billing writes ids`
}

/** Decodes the body of a notification. A text: the reason why it is no event. */
export function decodePaddleEvent(body: Uint8Array): PaddleEvent | string {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return 'must be JSON'
  }
  if (!isPaddleEvent(value)) return 'must be an event of Paddle Billing with the texts event_id, event_type and occurred_at, and with data'
  return wrongId(value) ?? value
}

/** The subscription, else the transaction that an event is about; null: it names none. */
export function queueOfEvent({ event_type, data }: PaddleEvent): string | null {
  switch (event_type.split('.')[0]) {
    case 'subscription':
      return text(data.id)
    case 'transaction':
      return text(data.subscription_id) ?? text(data.id)
    case 'adjustment':
      return text(data.subscription_id) ?? text(data.transaction_id)
    default:
      return null
  }
}

/**
 * The fields under which an event is recorded; null: it is ignored. An event that is read but names no subscription or transaction has a
 * queue of its own: it is set aside visibly when it is read.
 */
export function signedPaddleEvent(event: PaddleEvent, environment: SignedNotification['environment']): SignedNotification | null {
  const { event_id: id, event_type: type, occurred_at } = event
  if (!PADDLE_EVENT_TYPES.includes(type)) return null
  const queue = queueOfEvent(event) ?? `event:${id}`
  return { id, type, subtype: null, environment, queue, statedAt: Date.parse(occurred_at) }
}

import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { RecordedNotification, SignedNotification } from '../store-client.ts'

// A webhook has the shape of the endpoint's own API version, and the event of a sweep has that of the account at its time. So little more
// than ids is read, from the fields of both old and new versions.

type Fields = Record<string, unknown>

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const fields = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null
/** The id of an object that may be expanded. */
const idOf = (value: unknown): string | null => text(value) ?? text(fields(value)?.id)

/** `at`: store time in ms. `object`: `data.object`; `before`: `data.previous_attributes`, only of changes. `isConnect`: of a connected account. */
export type StripeEvent = {
  id: string
  type: string
  at: number
  isLive: boolean
  isConnect: boolean
  object: Fields
  before: Fields | null
}

/** Decodes an event. A text: the reason why it is no event. */
export function decodeStripeEvent(body: Uint8Array): StripeEvent | string {
  let event: Fields | null
  try {
    event = fields(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)))
  } catch {
    return 'must be JSON'
  }
  if (event?.object === 'v2.core.event') return 'thin events are not supported: choose snapshot events for the endpoint'
  const [id, type, data] = [text(event?.id), text(event?.type), fields(event?.data)]
  const object = fields(data?.object)
  if (event?.object !== 'event' || id === null || type === null || !object) return 'must be an event with id, type and data.object'
  if (!Number.isSafeInteger(event.created) || typeof event.livemode !== 'boolean') return 'must be an event with created and livemode'
  const common = { id, type, at: (event.created as number) * 1000, isLive: event.livemode, isConnect: text(event.account) !== null }
  return { ...common, object, before: fields(data?.previous_attributes) }
}

/** The inner event of a recorded notification. */
export function decodeRecordedEvent({ id, body }: RecordedNotification): StripeEvent {
  const decoded = decodeStripeEvent(body)
  if (typeof decoded === 'string') throw new NotCredible(`notification ${id} cannot be read: ${decoded}`)
  return decoded
}

type QueueOf = (object: Fields) => string | null

/** Until 2025-03-31 an invoice had the id of its subscription in a field of its own. Null: the invoice belongs to no subscription. */
const ofInvoice: QueueOf = ({ parent, subscription }) =>
  idOf(subscription) ?? idOf(fields(fields(parent)?.subscription_details)?.subscription)
const ofSchedule: QueueOf = ({ subscription, released_subscription }) => idOf(subscription) ?? idOf(released_subscription)
const ofCheckout: QueueOf = ({ mode, subscription }) => (mode === 'subscription' ? idOf(subscription) : null)
const named = (object: string, id: string | null): string | null => id && `${object}:${id}`
/** All events about the money of a payment are in one queue, that of the charge. */
const ofMoney: QueueOf = ({ charge, payment_intent }) => named('charge', idOf(charge)) ?? named('payment_intent', idOf(payment_intent))

const of = (queueOf: QueueOf, prefix: string, names: string) =>
  names.split(' ').map((name): [string, QueueOf] => [`${prefix}.${name}`, queueOf])

const QUEUES = new Map<string, QueueOf>([
  ...of(
    idOf,
    'customer.subscription',
    'created deleted updated paused resumed trial_will_end pending_update_applied pending_update_expired',
  ),
  ...of(ofSchedule, 'subscription_schedule', 'aborted canceled completed created expiring released updated'),
  ['checkout.session.completed', ofCheckout],
  ...of(
    ofInvoice,
    'invoice',
    'paid payment_succeeded payment_failed payment_action_required finalized updated voided marked_uncollectible',
  ),
  ['charge.refunded', object => named('charge', idOf(object))],
  ...of(ofMoney, 'refund', 'created failed updated'),
  ['charge.refund.updated', ofMoney],
  ...of(({ invoice }) => named('invoice', idOf(invoice)), 'credit_note', 'created updated voided'),
  ...of(ofMoney, 'charge.dispute', 'closed funds_reinstated'),
])

/** The types of events that are read. */
export const STRIPE_EVENT_TYPES: readonly string[] = [...QUEUES.keys()]

const FAMILIES: [string, QueueOf][] = [
  ['customer.subscription.', idOf],
  ['subscription_schedule.', ofSchedule],
]

/**
 * The fields under which an event is recorded; null: it is ignored. Every event about a subscription causes a refresh, including types of
 * later API versions.
 */
export function signedStripeEvent({ id, type, at, isLive, object }: StripeEvent): SignedNotification | null {
  const queueOf = QUEUES.get(type) ?? FAMILIES.find(([prefix]) => type.startsWith(prefix))?.[1]
  const queue = queueOf?.(object) ?? null
  return queue === null ? null : { id, type, subtype: null, environment: isLive ? 'production' : 'sandbox', queue, statedAt: at }
}

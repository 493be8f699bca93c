import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { ReportedRenewal, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { NotificationRead, RecordedNotification } from '../store-client.ts'
import { type PaddleEvent, type PaddleSubscription, paddleAccount } from './answers.ts'
import { decodePaddleEvent, PADDLE_EVENT_TYPES, queueOfEvent } from './event.ts'

const GOES_ON = ['active', 'trialing', 'past_due']

/** Whether a subscription will be charged again. Undefined: a pause is no cancellation, and an unknown status states nothing. */
export function paddleAutoRenews({ status = '', scheduled_change }: PaddleSubscription): boolean | undefined {
  if (status === 'canceled') return false
  if (!GOES_ON.includes(status)) return undefined
  if (scheduled_change == null) return true
  return scheduled_change.action === 'cancel' ? false : undefined
}

/** Null: a subscription that has ended is not paused any more, and was not resumed. */
export function paddlePaused({ status = '' }: PaddleSubscription): boolean | null | undefined {
  if (status === 'paused') return true
  return GOES_ON.includes(status) ? false : status === 'canceled' ? null : undefined
}

/** The report of an event about auto-renew and a pause at the event's time, which the present state does not show any more. */
function reportedRenewal({ event_type, data }: PaddleEvent): ReportedRenewal | null {
  if (event_type === 'subscription.canceled') return { autoRenews: false, gaveUp: true, isPaused: null }
  if (event_type === 'subscription.paused') return { isPaused: true }
  if (event_type === 'subscription.resumed') return { isPaused: false }
  if (event_type !== 'subscription.updated') return null
  const autoRenews = paddleAutoRenews(data as PaddleSubscription)
  return autoRenews === undefined ? null : { autoRenews }
}

const BEGINS = ['subscription.activated', 'subscription.trialing', 'subscription.resumed']
const PAID = ['transaction.paid', 'transaction.completed']

/** Whether the event is about a period that has begun; a one-time purchase has none. */
const promisesPeriod = ({ event_type, data }: PaddleEvent): boolean =>
  BEGINS.includes(event_type) || (PAID.includes(event_type) && typeof data.subscription_id === 'string')

/**
 * An event does not describe the change; the refresh does, and names each transaction. The switch of auto-renew is reported from the event
 * itself. A failed charge is not: its event does not name the period before the failed one.
 */
export function readPaddleEvent({ id, type, body, statedAt }: RecordedNotification): NotificationRead {
  if (!PADDLE_EVENT_TYPES.includes(type)) return { is: 'ignored', type }
  const event = decodePaddleEvent(body)
  if (typeof event === 'string') throw new NotCredible(`event ${id} cannot be read: it ${event}`)
  const lineage = queueOfEvent(event)
  if (lineage === null) throw new NotCredible(`event ${id} of type ${type} names no subscription and no transaction`)
  const reported = reportedRenewal(event)
  const report: StoreReport = {
    platform: 'paddle',
    lineage,
    aliases: [],
    accountId: paddleAccount([event.data]),
    statements: reported ? [{ kind: 'renewal', origin: 'push', statedAt, subject: '', reported }] : [],
    notices: [],
    isWhole: false,
  }
  // Without a statement there is no report: a transaction's first events do not name the subscription yet, and would begin a lineage of their own.
  const promised = promisesPeriod(event) ? 'period' : undefined
  return { is: 'read', environment: null, reports: reported ? [report] : [], refresh: true, promised }
}

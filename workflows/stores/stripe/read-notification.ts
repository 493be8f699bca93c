import type { RenewalStatement, ReportedPeriod, Statement } from '../../../domain/purchases/store-facts/statement.ts'
import type { NotificationRead, RecordedNotification } from '../store-client.ts'
import { decodeRecordedEvent, type StripeEvent, signedStripeEvent } from './events.ts'
import { invoiceIds } from './subjects.ts'

const SWITCHES = ['cancel_at_period_end', 'cancel_at']

/** Auto-renew, if the event reports that it was switched, or that the subscription was created with an end. */
function switched({ type, object, before, at }: StripeEvent): RenewalStatement[] {
  const isOff = object.cancel_at_period_end === true || typeof object.cancel_at === 'number'
  const common = { kind: 'renewal', origin: 'push', subject: '' } as const
  const offAt = typeof object.canceled_at === 'number' ? object.canceled_at * 1000 : at
  const off: RenewalStatement[] = isOff ? [{ ...common, statedAt: Math.min(offAt, at), reported: { autoRenews: false } }] : []
  switch (type) {
    case 'customer.subscription.created':
      return off
    case 'customer.subscription.deleted':
      return [...off, { ...common, statedAt: at, reported: { gaveUp: true } }]
    default: {
      if (!type.startsWith('customer.subscription.') || !SWITCHES.some(name => before && name in before)) return []
      return isOff ? off : [{ ...common, statedAt: at, reported: { autoRenews: true } }]
    }
  }
}

/** A pause of the collection, if the event reports its beginning or end. */
function paused({ type, object, before, at }: StripeEvent): RenewalStatement[] {
  if (!type.startsWith('customer.subscription.') || !before || !('pause_collection' in before)) return []
  return [{ kind: 'renewal', origin: 'push', subject: '', statedAt: at, reported: { isPaused: object.pause_collection != null } }]
}

/**
 * The charge of a renewal has failed. Its invoice is the period after the one that has ended. The report names the invoice: once it is
 * paid, billing retry ran from that end. Until then the refresh finds the retry. Without the name the report would concern the new period,
 * which began before the charge failed.
 */
function failed({ type, object, at }: StripeEvent, subscription: string): Statement[] {
  if (type !== 'invoice.payment_failed' || object.billing_reason !== 'subscription_cycle' || typeof object.id !== 'string') return []
  const reported: ReportedPeriod = { isRecovered: true }
  return [
    { kind: 'period', origin: 'push', statedAt: at, subject: object.id, ids: invoiceIds(subscription, object.id, object.id), reported },
  ]
}

/** Paid invoices of a subscription. */
const PAID = ['invoice.paid', 'invoice.payment_succeeded', 'checkout.session.completed']

/** Events do not describe the change: each one causes a refresh, and adds the transitions that the present state does not show any more. */
export function readStripeNotification(recorded: RecordedNotification): NotificationRead {
  const event = decodeRecordedEvent(recorded)
  const notification = signedStripeEvent(event)
  if (!notification) return { is: 'ignored', type: event.type }
  const { environment, queue } = notification
  const statements = [...switched(event), ...paused(event), ...failed(event, queue)]
  const report = { platform: 'stripe', lineage: queue, aliases: [], accountId: null, statements, notices: [], isWhole: false } as const
  const reports = statements.length > 0 ? [{ ...report, aliases: [], notices: [] }] : []
  return { is: 'read', environment, reports, refresh: true, promised: PAID.includes(event.type) ? 'period' : undefined }
}

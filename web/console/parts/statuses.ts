import type { Tone } from './status-chip.tsx'
import { plain, t } from './t.ts'

/** The states of a customer in the order of their filter, as people call them. */
export const CUSTOMER_STATUSES: Readonly<Record<string, { says: string; tone: Tone }>> = {
  active: { says: 'Subscriber', tone: 'good' },
  canceled: { says: 'Will leave', tone: 'warn' },
  billing_retry: { says: 'Charge failed', tone: 'warn' },
  trial: { says: 'Trial', tone: 'info' },
  canceled_trial: { says: 'Cancelled trial', tone: 'mute' },
  churned: { says: 'Has left', tone: 'mute' },
  none: { says: 'No subscription', tone: 'mute' },
}

/** How a status of a customer is shown; one that is not known here as it is. */
export function customerStatus(status: string): { status: string; label: string; tone?: Tone } {
  const known = CUSTOMER_STATUSES[status]
  return known ? { status, label: t(known.says), tone: known.tone } : { status, label: plain(status) }
}

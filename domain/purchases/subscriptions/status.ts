import type { TimelineState } from './timeline.ts'

/** The statuses of a customer, best first. Of several subscriptions the best one counts. */
export const CUSTOMER_STATUSES = ['active', 'canceled', 'billing_retry', 'trial', 'canceled_trial', 'churned', 'none'] as const
export type CustomerStatus = (typeof CUSTOMER_STATUSES)[number]

/** The status that one subscription gives its user. */
export function statusOf(state: TimelineState | null, autoRenewing: boolean, everPaid: boolean): CustomerStatus {
  switch (state) {
    case 'paid':
      return autoRenewing ? 'active' : 'canceled'
    case 'grace':
    case 'retry':
      return 'billing_retry'
    case 'trial':
      return autoRenewing ? 'trial' : 'canceled_trial'
    case 'ended':
      return everPaid ? 'churned' : 'none'
    case null:
      return 'none'
    default:
      return state satisfies never
  }
}

export const bestStatus = (statuses: CustomerStatus[]): CustomerStatus =>
  CUSTOMER_STATUSES.find(status => statuses.includes(status)) ?? 'none'

import type { State } from './timeline.ts'

/** The customer's status: of several subscriptions the best, in this order. */
export const STATUSES = ['active', 'canceled', 'billing_retry', 'trial', 'canceled_trial', 'churned', 'none'] as const
export type Status = (typeof STATUSES)[number]

/** What one subscription makes of its user. */
export function statusOf(state: State | null, autoRenewing: boolean, everPaid: boolean): Status {
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

export const best = (statuses: Status[]): Status => STATUSES.find(status => statuses.includes(status)) ?? 'none'

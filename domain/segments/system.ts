import type { Condition } from './condition.ts'

export type SystemSegment = { id: string; name: string; conditions: Condition[] }

const one = (id: string, name: string, metric: string, value: string): SystemSegment => ({
  id,
  name,
  conditions: [{ metric, comparator: 'eq', value, negate: false }],
})

/** Read-only, in every environment, in the order in which they are listed. */
export const SYSTEM_SEGMENTS: readonly SystemSegment[] = [
  one('active_subscribers', 'Active subscribers', 'subscription_state', 'active'),
  one('active_trials', 'Active trials', 'subscription_state', 'trial'),
  one('billing_retry', 'Billing retry', 'subscription_state', 'billing_retry'),
  one('churned_users', 'Churned users', 'subscription_state', 'expired'),
  one('never_paid', 'Never paid', 'purchases_count', '0'),
]

export const systemSegment = (id: string): SystemSegment | undefined => SYSTEM_SEGMENTS.find(segment => segment.id === id)

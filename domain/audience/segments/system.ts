import type { Condition } from './condition.ts'

export type SystemSegment = { id: string; name: string; conditions: Condition[] }

const segment = (id: string, name: string, metric: string, value: string): SystemSegment => ({
  id,
  name,
  conditions: [{ metric, comparator: 'eq', value, negate: false }],
})

/** Read-only segments of every environment, in the order of their list. */
export const SYSTEM_SEGMENTS: readonly SystemSegment[] = [
  segment('active_subscribers', 'Active subscribers', 'subscription_state', 'active'),
  segment('active_trials', 'Active trials', 'subscription_state', 'trial'),
  segment('billing_retry', 'Billing retry', 'subscription_state', 'billing_retry'),
  segment('churned_users', 'Churned users', 'subscription_state', 'expired'),
  segment('never_paid', 'Never paid', 'purchases_count', '0'),
]

export const systemSegment = (id: string): SystemSegment | undefined => SYSTEM_SEGMENTS.find(system => system.id === id)

import { keyFault } from '../users/properties.ts'
import type { Comparator } from './condition.ts'

/** What can be asked about a user. The kind decides which comparators there are and how the value is read. */
export type Kind =
  | 'string'
  | 'country'
  | 'enum'
  | 'boolean'
  | 'integer'
  | 'decimal'
  | 'version'
  | 'time'
  | 'property'
  | 'segment'
  | 'experiment'
  | 'context_key'

const EQUALITY = ['eq', 'ne'] as const
const TEXT = ['eq', 'ne', 'contains', 'not_contains'] as const
const ORDER = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const

export const COMPARATORS: Record<Kind, readonly Comparator[]> = {
  string: TEXT,
  country: TEXT,
  enum: EQUALITY,
  boolean: EQUALITY,
  integer: ORDER,
  decimal: ORDER,
  version: ORDER,
  time: ORDER,
  property: [...ORDER, 'contains', 'not_contains'],
  segment: EQUALITY,
  experiment: EQUALITY,
  context_key: EQUALITY,
}

const KINDS: Record<string, Kind> = {
  environment: 'enum',
  client_uid: 'string',
  custom_uid: 'string',
  client_advertiser_id: 'string',
  renewable: 'boolean',
  target_platform: 'enum',
  country: 'country',
  app_version: 'version',
  install_date: 'time',
  has_active_subscription: 'boolean',
  subscription_state: 'enum',
  purchases_count: 'integer',
  revenue_usd: 'decimal',
  last_seen: 'time',
  segment: 'segment',
  attached_experiment: 'experiment',
  attached_experiment_context_key: 'context_key',
}

/** The best first: of several subscriptions of a user the first of these counts. */
export const SUBSCRIPTION_STATES = ['active', 'billing_retry', 'trial', 'expired', 'none'] as const
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number]

export const ENUMS: Record<string, readonly string[]> = {
  environment: ['prod', 'sandbox'],
  target_platform: ['iOS', 'Android', 'Stripe', 'Paddle'],
  subscription_state: SUBSCRIPTION_STATES,
}

const ENTITLEMENT = 'entitlement:'
const PROPERTY = 'property:'
const ENTITLEMENT_ID = /^[a-zA-Z0-9._-]{1,255}$/

/** The id of `entitlement:<id>`, null for every other metric. */
export const entitlementOf = (metric: string): string | null =>
  metric.startsWith(ENTITLEMENT) && ENTITLEMENT_ID.test(metric.slice(ENTITLEMENT.length)) ? metric.slice(ENTITLEMENT.length) : null

/** The key of `property:<key>`, null for every other metric and for a key that no user can have. */
export const propertyOf = (metric: string): string | null =>
  metric.startsWith(PROPERTY) && keyFault(metric.slice(PROPERTY.length)) === null ? metric.slice(PROPERTY.length) : null

/** Null: there is no such metric. */
export function kindOf(metric: string): Kind | null {
  if (Object.hasOwn(KINDS, metric)) return KINDS[metric]!
  if (entitlementOf(metric) !== null) return 'boolean'
  return propertyOf(metric) === null ? null : 'property'
}

/** Only who may be asked, not who somebody is: segments do not nest. */
export const isReference = (kind: Kind): boolean => kind === 'segment' || kind === 'experiment' || kind === 'context_key'

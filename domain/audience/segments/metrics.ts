import { PLATFORMS } from '../../kernel/platform.ts'
import { keyFault } from '../../users/properties.ts'
import type { Comparator } from './condition.ts'

/** The kind of a metric decides which comparators it has and how a condition's value is read. */
export type MetricKind =
  | 'string'
  | 'country'
  | 'enum'
  | 'boolean'
  | 'integer'
  | 'decimal'
  | 'version'
  | 'time'
  | 'planned_product'
  | 'property'
  | 'segment'
  | 'experiment'
  | 'context_key'
  | 'listed'

const EQUALITY = ['eq', 'ne'] as const
const TEXT = ['eq', 'ne', 'contains', 'not_contains'] as const
const ORDER = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const

export const COMPARATORS: Record<MetricKind, readonly Comparator[]> = {
  string: TEXT,
  country: TEXT,
  enum: EQUALITY,
  boolean: EQUALITY,
  integer: ORDER,
  decimal: ORDER,
  version: ORDER,
  time: ORDER,
  planned_product: TEXT,
  property: [...ORDER, 'contains', 'not_contains'],
  segment: EQUALITY,
  experiment: EQUALITY,
  context_key: EQUALITY,
  listed: EQUALITY,
}

const KINDS: Record<string, MetricKind> = {
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
  auto_renew: 'enum',
  is_paused: 'boolean',
  planned_product_id: 'planned_product',
  purchases_count: 'integer',
  revenue_usd: 'decimal',
  last_seen: 'time',
  segment: 'segment',
  attached_experiment: 'experiment',
  attached_experiment_context_key: 'context_key',
  listed: 'listed',
}

/** Best first: the state of a user with several subscriptions is the first of these states that a subscription has. */
export const SUBSCRIPTION_STATES = ['active', 'billing_retry', 'trial', 'expired', 'none'] as const
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number]

/** Of the subscriptions that are not over, `on` when one renews; `none` without such a subscription. */
const AUTO_RENEW = ['on', 'off', 'none'] as const
export type AutoRenewSetting = (typeof AUTO_RENEW)[number]

export const ENUMS: Record<string, readonly string[]> = {
  environment: ['prod', 'sandbox'],
  target_platform: PLATFORMS,
  subscription_state: SUBSCRIPTION_STATES,
  auto_renew: AUTO_RENEW,
}

const ENTITLEMENT = 'entitlement:'
const PROPERTY = 'property:'
const ENTITLEMENT_ID = /^[a-zA-Z0-9._-]{1,255}$/

/** The id in `entitlement:<id>`; null for every other metric. */
export const entitlementOf = (metric: string): string | null =>
  metric.startsWith(ENTITLEMENT) && ENTITLEMENT_ID.test(metric.slice(ENTITLEMENT.length)) ? metric.slice(ENTITLEMENT.length) : null

/** The key in `property:<key>`; null for every other metric and for a key that no user can have. */
export const propertyOf = (metric: string): string | null =>
  metric.startsWith(PROPERTY) && keyFault(metric.slice(PROPERTY.length)) === null ? metric.slice(PROPERTY.length) : null

/** Null when there is no such metric. */
export function metricKind(metric: string): MetricKind | null {
  if (Object.hasOwn(KINDS, metric)) return KINDS[metric]!
  if (entitlementOf(metric) !== null) return 'boolean'
  return propertyOf(metric) === null ? null : 'property'
}

/** Whether only the service itself makes conditions of this kind (`onList`). */
export const isInternal = (kind: MetricKind): boolean => kind === 'listed'

/** Whether a condition refers to another object. The conditions of a segment must not: segments do not nest. */
export const isReference = (kind: MetricKind): boolean => kind === 'segment' || kind === 'experiment' || kind === 'context_key'

import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { plain, t } from '../t.ts'

/** What kind of value a metric has: it decides how it can be compared and by which field its value is given. */
export type MetricKind =
  | 'text'
  | 'country'
  | 'choice'
  | 'flag'
  | 'count'
  | 'money'
  | 'version'
  | 'time'
  | 'property'
  | 'segment'
  | 'experiment'
  | 'context'

type Comparator = ConditionInput['comparator']
type Metric = { kind: MetricKind; label: string; group: string }

/** Values of choices, with their words. */
export const CHOICES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  environment: { prod: 'production', sandbox: 'sandbox' },
  target_platform: { iOS: 'iOS', Android: 'Android', Stripe: 'Stripe', Paddle: 'Paddle' },
  subscription_state: {
    active: 'paid',
    trial: 'in trial',
    billing_retry: 'in billing retry or grace',
    expired: 'expired, once paid',
    none: 'none',
  },
  auto_renew: { on: 'on', off: 'off', none: 'none' },
}

const SUBSCRIPTION = 'Subscription'
const PERSON = 'Person'
const MEMBERSHIP = 'Membership'

export const METRICS: Readonly<Record<string, Metric>> = {
  subscription_state: { kind: 'choice', label: 'Subscription', group: SUBSCRIPTION },
  has_active_subscription: { kind: 'flag', label: 'Has a paid subscription', group: SUBSCRIPTION },
  renewable: { kind: 'flag', label: 'Has a subscription that renews', group: SUBSCRIPTION },
  auto_renew: { kind: 'choice', label: 'Renewal', group: SUBSCRIPTION },
  is_paused: { kind: 'flag', label: 'Has a paused subscription', group: SUBSCRIPTION },
  planned_product_id: { kind: 'text', label: 'Planned product', group: SUBSCRIPTION },
  purchases_count: { kind: 'count', label: 'Number of payments', group: SUBSCRIPTION },
  revenue_usd: { kind: 'money', label: 'Revenue in USD', group: SUBSCRIPTION },
  country: { kind: 'country', label: 'Country', group: PERSON },
  target_platform: { kind: 'choice', label: 'Platform', group: PERSON },
  app_version: { kind: 'version', label: 'App version', group: PERSON },
  install_date: { kind: 'time', label: 'Installed', group: PERSON },
  last_seen: { kind: 'time', label: 'Last seen', group: PERSON },
  custom_uid: { kind: 'text', label: 'Own user id', group: PERSON },
  client_uid: { kind: 'text', label: 'Id', group: PERSON },
  client_advertiser_id: { kind: 'text', label: 'Advertiser id', group: PERSON },
  environment: { kind: 'choice', label: 'Environment', group: PERSON },
  segment: { kind: 'segment', label: 'Segment', group: MEMBERSHIP },
  attached_experiment: { kind: 'experiment', label: 'Experiment', group: MEMBERSHIP },
  attached_experiment_context_key: { kind: 'context', label: 'Experiment with the context key', group: MEMBERSHIP },
}

/** Properties that the SDKs set. Others are typed. */
export const PROPERTIES = ['_q_email', '_q_name', '_q_custom_user_id', '_q_appsflyer_user_id', '_q_adjust_adid', '_q_firebase_instance_id']

const EQUALITY = ['eq', 'ne'] as const
const TEXT = ['eq', 'ne', 'contains', 'not_contains'] as const
const ORDER = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const

const COMPARATORS: Readonly<Record<MetricKind, readonly Comparator[]>> = {
  text: TEXT,
  country: TEXT,
  choice: EQUALITY,
  flag: EQUALITY,
  count: ORDER,
  money: ORDER,
  version: ORDER,
  time: ORDER,
  property: [...ORDER, 'contains', 'not_contains'],
  segment: EQUALITY,
  experiment: EQUALITY,
  context: EQUALITY,
}

const keyOfProperty = (metric: string): string | null => (metric.startsWith('property:') ? metric.slice('property:'.length) : null)
export const entitlementIn = (metric: string): string | null =>
  metric.startsWith('entitlement:') ? metric.slice('entitlement:'.length) : null

/** A metric that the console does not know is shown as a text: the service says what it thinks of it. */
export function kindOf(metric: string): MetricKind {
  if (keyOfProperty(metric) !== null) return 'property'
  if (entitlementIn(metric) !== null) return 'flag'
  return Object.hasOwn(METRICS, metric) ? METRICS[metric]!.kind : 'text'
}

export const comparatorsOf = (metric: string): readonly Comparator[] => COMPARATORS[kindOf(metric)]

export function metricText(metric: string): string {
  const key = keyOfProperty(metric)
  if (key !== null) return t('Property {key}', { key: key === '' ? '…' : key })
  if (metric.startsWith('event:')) return t('Event: {field}', { field: metric.slice('event:'.length) })
  const entitlement = entitlementIn(metric)
  if (entitlement !== null) return t('Has access to {id}', { id: entitlement === '' ? '…' : entitlement })
  return Object.hasOwn(METRICS, metric) ? t(METRICS[metric]!.label) : plain(metric)
}

const PLAIN: Readonly<Record<Comparator, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  contains: 'contains',
  not_contains: 'does not contain',
}
const OF_TIME: Partial<Record<Comparator, string>> = {
  eq: 'on',
  ne: 'not on',
  gt: 'after',
  gte: 'on or after',
  lt: 'before',
  lte: 'on or before',
}
const OF_VERSION: Partial<Record<Comparator, string>> = { gt: 'is newer than', lt: 'is older than' }
const OF_MEMBER: Partial<Record<Comparator, string>> = { eq: 'is in', ne: 'is not in' }

export function comparatorText(metric: string, comparator: Comparator): string {
  const kind = kindOf(metric)
  const own = kind === 'time' ? OF_TIME : kind === 'version' ? OF_VERSION : kind === 'segment' || kind === 'experiment' ? OF_MEMBER : {}
  return t(own[comparator] ?? PLAIN[comparator] ?? comparator)
}

const FIRST: Partial<Record<MetricKind, string>> = { flag: '1', time: '-P30D' }

/** A condition on another metric: what was compared so stays so where that can be. */
export function withMetric(condition: ConditionInput, metric: string): ConditionInput {
  const kind = kindOf(metric)
  const allowed = comparatorsOf(metric)
  const isSame = kind === kindOf(condition.metric) && kind !== 'choice'
  const value = isSame ? condition.value : kind === 'choice' ? (Object.keys(CHOICES[metric] ?? {})[0] ?? '') : (FIRST[kind] ?? '')
  const first = kind === 'time' ? 'gte' : allowed[0]!
  const comparator = isSame || (allowed.includes(condition.comparator) && kind !== 'time') ? condition.comparator : first
  return { ...condition, metric, comparator, value }
}

export const FIRST_CONDITION: ConditionInput = { metric: 'subscription_state', comparator: 'eq', value: 'active', negate: false }

const MAY_BE_EMPTY: readonly MetricKind[] = ['text', 'property', 'version', 'context']

/** Whether the value has been given: a form asks nobody what a half-typed condition would give. */
export const isFilled = ({ metric, value }: ConditionInput): boolean =>
  keyOfProperty(metric) !== '' &&
  entitlementIn(metric) !== '' &&
  (value !== '' || MAY_BE_EMPTY.includes(kindOf(metric))) &&
  (kindOf(metric) !== 'time' || !/^(-PT?[A-Z]|T.*)$/.test(value))

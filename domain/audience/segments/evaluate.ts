import { accepts, compareDecimals, compareText, compareVersions, isDecimal, upper } from './compare.ts'
import type { Comparator, Condition } from './condition.ts'
import { type AutoRenewSetting, entitlementOf, metricKind, propertyOf, SUBSCRIPTION_STATES, type SubscriptionState } from './metrics.ts'
import type { Overrides, Profile } from './profile.ts'
import { systemSegment } from './system.ts'
import { spanOf, timeValue } from './time.ts'
import { booleanOf } from './value.ts'

const seconds = (time: string) => Date.parse(time) / 1000
const property = (profile: Profile, key: string): string | null =>
  Object.hasOwn(profile.properties, key) ? profile.properties[key]! : null

/** For each state of a user, the states of a subscription that put the user there. */
export const COUNTS_AS: Record<Exclude<SubscriptionState, 'none'>, readonly string[]> = {
  active: ['paid'],
  billing_retry: ['grace', 'retry'],
  trial: ['trial'],
  expired: ['ended'],
}
export const RENEWABLE: readonly string[] = ['trial', 'paid', 'grace', 'retry']
export const GIVING_ACCESS: readonly string[] = ['paid', 'grace']

const bestState = ({ subscriptions }: Profile): SubscriptionState =>
  SUBSCRIPTION_STATES.find(
    wanted =>
      wanted !== 'none' &&
      subscriptions.some(({ state, ever_paid }) => COUNTS_AS[wanted].includes(state ?? '') && (wanted !== 'expired' || ever_paid)),
  ) ?? 'none'

const isRenewable = ({ state }: Profile['subscriptions'][number]): boolean => RENEWABLE.includes(state ?? '')

function autoRenewSetting({ subscriptions }: Profile): AutoRenewSetting {
  const open = subscriptions.filter(isRenewable)
  if (open.length === 0) return 'none'
  return open.some(({ auto_renewing }) => auto_renewing) ? 'on' : 'off'
}

function textOf(metric: string, profile: Profile): string | null {
  switch (metric) {
    case 'environment':
      return profile.environment
    case 'client_uid':
      return profile.id
    case 'custom_uid':
      return property(profile, '_q_custom_user_id')
    // A property cannot be removed, only set to the empty text.
    case 'client_advertiser_id':
      return property(profile, '_q_advertising_id') || profile.advertiser_id
    case 'target_platform':
      return profile.platform
    case 'country':
      return profile.country === null ? null : upper(profile.country)
    case 'app_version':
      return profile.app_version ?? (property(profile, '_q_app_version') || null)
    case 'subscription_state':
      return bestState(profile)
    case 'auto_renew':
      return autoRenewSetting(profile)
    default:
      return property(profile, propertyOf(metric) ?? '')
  }
}

function flagOf(metric: string, { subscriptions, entitlements }: Profile): boolean {
  switch (metric) {
    case 'renewable':
      return subscriptions.some(each => each.auto_renewing && isRenewable(each))
    case 'has_active_subscription':
      return subscriptions.some(({ state }) => GIVING_ACCESS.includes(state ?? ''))
    case 'is_paused':
      return subscriptions.some(({ is_paused }) => is_paused)
    default:
      return entitlements.includes(entitlementOf(metric) ?? '')
  }
}

/** Compares two texts. For a user without a value, only the comparators of difference are true. */
function compared(comparator: Comparator, has: string | null, value: string, order: (a: string, b: string) => number): boolean {
  if (has === null) return comparator === 'ne' || comparator === 'not_contains'
  if (comparator === 'contains') return has.includes(value)
  if (comparator === 'not_contains') return !has.includes(value)
  return accepts(comparator, order(has, value))
}

/** A user with several subscriptions may have several planned products: one of them suffices, and a comparator of difference is about all. */
function plansProduct(comparator: Comparator, { subscriptions }: Profile, value: string): boolean {
  const planned = subscriptions.flatMap(each => (isRenewable(each) ? (each.planned_product ?? []) : []))
  const isDifference = comparator === 'ne' || comparator === 'not_contains'
  const isMet = (product: string) => compared(comparator, product, value, compareText)
  return isDifference ? planned.every(isMet) : planned.some(isMet)
}

const numbersOrText = (a: string, b: string) => (isDecimal(a) && isDecimal(b) ? compareDecimals(a, b) : compareText(a, b))

/** Compares values that are text or number, as properties are: as numbers when both are numbers. */
export const meetsValue = (comparator: Comparator, has: string | null, value: string): boolean =>
  compared(comparator, has, value, numbersOrText)

function inTime(comparator: Comparator, at: number, value: string, now: number): boolean {
  const read = timeValue(value)
  if (!read) return false
  const { start, end } = spanOf(read, now)
  return accepts(comparator, at < start ? -1 : at >= end ? 1 : 0)
}

/** Null when the condition names a metric or a segment that does not exist: the condition is then false, negated or not. */
function meets({ metric, comparator, value }: Condition, profile: Profile): boolean | null {
  const kind = metricKind(metric)
  switch (kind) {
    case 'string':
    case 'enum':
      return compared(comparator, textOf(metric, profile), value, compareText)
    case 'country':
      return compared(comparator, textOf(metric, profile), upper(value), compareText)
    case 'version':
      return compared(comparator, textOf(metric, profile), value, compareVersions)
    case 'property':
      return meetsValue(comparator, textOf(metric, profile), value)
    case 'planned_product':
      return plansProduct(comparator, profile, value)
    case 'integer':
      return accepts(comparator, compareDecimals(String(profile.payments_count), value))
    case 'decimal':
      return accepts(comparator, compareDecimals(profile.net_payments_usd, value))
    case 'time':
      return inTime(comparator, seconds(metric === 'last_seen' ? profile.last_seen_at : profile.created_at), value, seconds(profile.now))
    case 'boolean':
      return (flagOf(metric, profile) === booleanOf(value)) === (comparator === 'eq')
    case 'segment': {
      const conditions = systemSegment(value)?.conditions ?? (Object.hasOwn(profile.segments, value) ? profile.segments[value] : undefined)
      return conditions ? allConditionsMet(conditions, profile) === (comparator === 'eq') : null
    }
    case 'experiment':
      return profile.experiments.some(({ id }) => id === value) === (comparator === 'eq')
    case 'context_key':
      return profile.experiments.some(({ context_key }) => context_key === value) === (comparator === 'eq')
    case 'listed':
      return profile.lists.includes(value) === (comparator === 'eq')
    case null:
      return null
    default:
      return kind satisfies never
  }
}

/** Whether the user meets all conditions; an empty list is met by every user. `membersSql` is the same rule for sets of users. */
export function allConditionsMet(conditions: readonly Condition[], profile: Profile): boolean {
  return conditions.every(condition => {
    const plain = meets(condition, profile)
    return plain !== null && plain !== condition.negate
  })
}

/** The profile with the values that the app sends for this one evaluation. */
export const withOverrides = (profile: Profile, { target_platform, country, app_version }: Overrides): Profile => ({
  ...profile,
  platform: target_platform ?? profile.platform,
  country: country ?? profile.country,
  app_version: app_version ?? profile.app_version,
})

/** The kind of an event's `price`: none at all, an amount that was received, or an amount that was returned (stored negative). */
type PriceKind = 'none' | 'in' | 'out'
export type EventType = { uid: string; slug: string; title: string; value: PriceKind; refund: boolean; begins: boolean; recurring: boolean }

type Row = [slug: string, title: string, value: PriceKind, kind?: 'refund' | 'begins']
const ROWS: Row[] = [
  ['trial_started', 'Trial Started', 'none', 'begins'],
  ['trial_converted', 'Trial Converted', 'in', 'begins'],
  ['trial_canceled', 'Trial Canceled', 'none'],
  ['trial_still_active', 'Trial Still Active', 'none'],
  ['trial_billing_retry_entered', 'Trial Billing Retry', 'none'],
  ['trial_expired', 'Trial Expired', 'none'],
  ['subscription_started', 'Subscription Started', 'in', 'begins'],
  ['subscription_renewed', 'Subscription Renewed', 'in', 'begins'],
  ['subscription_canceled', 'Subscription Canceled', 'none'],
  ['subscription_billing_retry_entered', 'Subscription Billing Retry', 'none'],
  ['subscription_expired', 'Subscription Expired', 'none'],
  ['subscription_upgraded', 'Subscription Upgraded', 'out'],
  ['subscription_downgraded', 'Subscription Downgraded', 'none'],
  ['subscription_product_changed', 'Subscription Product Changed', 'none'],
  ['subscription_refunded', 'Subscription Refunded', 'out', 'refund'],
  ['in_app_purchase', 'In-App Purchase', 'in', 'begins'],
  ['in_app_refunded', 'In-App Refunded', 'out', 'refund'],
  ['refund_consumption', 'Refund Consumption', 'none'],
  ['refund_declined', 'Refund Declined', 'none'],
  ['unmapped_product', 'Unmapped Product', 'none'],
  ['refund_reversed', 'Refund Reversed', 'in'],
  ['trial_uncanceled', 'Trial Uncanceled', 'none'],
  ['subscription_uncanceled', 'Subscription Uncanceled', 'none'],
  ['subscription_credited', 'Subscription Credited', 'out'],
  ['subscription_paused', 'Subscription Paused', 'none'],
  ['subscription_resumed', 'Subscription Resumed', 'none'],
  ['product_change_planned', 'Product Change Planned', 'none'],
  ['product_change_withdrawn', 'Product Change Withdrawn', 'none'],
]

/**
 * The event types of the service. `uid` is the position in this list, from "1". `begins`: the log has one such event per (platform,
 * transaction id). `recurring`: the event is about a subscription, whose proceeds rate differs.
 */
export const CATALOGUE: readonly EventType[] = ROWS.map(([slug, title, value, kind], i) => ({
  uid: String(i + 1),
  slug,
  title,
  value,
  refund: kind === 'refund',
  begins: kind === 'begins',
  recurring: !slug.startsWith('in_app_'),
}))

const bySlug = new Map(CATALOGUE.map(type => [type.slug, type]))

/** The catalogue's entry; undefined for a custom event. */
export const eventType = (slug: string): EventType | undefined => bySlug.get(slug)

/** The slugs of the events that have a price. */
export const VALUE_SLUGS = CATALOGUE.filter(type => type.value !== 'none').map(type => type.slug)
export const REFUND_SLUGS = CATALOGUE.filter(type => type.refund).map(type => type.slug)

/** Slugs of the catalogue as a list of SQL literals. */
export const slugsSql = (slugs: readonly string[]): string => slugs.map(slug => `'${slug}'`).join(', ')

const byUid = new Map(CATALOGUE.map(type => [type.uid, type.slug]))
const CUSTOM = /^(?=.*[a-z])[a-z0-9][a-z0-9_.-]{0,99}$/

/** The slug of an event type, given its uid or slug in the catalogue, or a custom slug; null when the text is none of them. */
export function slugOf(text: string): string | null {
  const slug = byUid.get(text) ?? text
  return eventType(slug) || CUSTOM.test(slug) ? slug : null
}

/** The error message for a text that is no event type. */
export const NO_EVENT_TYPE = 'must be a uid or slug of the catalogue, or the slug of a custom event, such as trial_started'

/** Whether the event type is not in the catalogue. */
export const isCustom = (slug: string): boolean => eventType(slug) === undefined

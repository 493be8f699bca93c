/** What the `price` of an occurrence may be: none at all, an amount that came in, or an amount that went back (stored negative). */
export type Value = 'none' | 'in' | 'out'
export type EventType = { uid: string; slug: string; title: string; value: Value; refund: boolean; begins: boolean; recurring: boolean }

type Row = [slug: string, title: string, value: Value, trait?: 'refund' | 'begins']
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
]

/**
 * The twenty events that the service knows; `uid` is the place in this list, from "1". `begins`: unique per (platform, transaction
 * id). `recurring`: about a subscription (the proceeds rate differs).
 */
export const CATALOGUE: readonly EventType[] = ROWS.map(([slug, title, value, trait], i) => ({
  uid: String(i + 1),
  slug,
  title,
  value,
  refund: trait === 'refund',
  begins: trait === 'begins',
  recurring: !slug.startsWith('in_app_'),
}))

const bySlug = new Map(CATALOGUE.map(type => [type.slug, type]))

/** The catalogue's entry, or undefined for a custom event. */
export const eventType = (slug: string): EventType | undefined => bySlug.get(slug)

/** Slugs of the events that carry price and revenue. */
export const VALUE_SLUGS = CATALOGUE.filter(type => type.value !== 'none').map(type => type.slug)
export const REFUND_SLUGS = CATALOGUE.filter(type => type.refund).map(type => type.slug)

const byUid = new Map(CATALOGUE.map(type => [type.uid, type.slug]))
const CUSTOM = /^(?=.*[a-z])[a-z0-9][a-z0-9_.-]{0,99}$/

/** The slug of an event type that is named by the uid or the slug of the catalogue, or by a custom slug; null when the text names none. */
export function slugOf(named: string): string | null {
  const slug = byUid.get(named) ?? named
  return eventType(slug) || CUSTOM.test(slug) ? slug : null
}

/** Outside the catalogue. */
export const isCustom = (slug: string): boolean => eventType(slug) === undefined

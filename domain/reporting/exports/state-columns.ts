import { TARGET_PLATFORM } from '../../purchases/subscriptions/purchase.ts'
import { amount, boolean, type ExportColumn, IDENTITY, integer, quoted, text, time, USER_HEADER } from './columns.ts'

/** SQL: the platform, as events have it, of a store. */
export const platformOfStore = (store: string): string =>
  `case ${store} ${Object.entries(TARGET_PLATFORM)
    .map(([name, platform]) => `when ${quoted(name)} then ${quoted(platform)}`)
    .join(' ')} end`

/** SQL: as in the columns of events, at least two places. */
const plainAmount = (sql: string) => `case when min_scale(${sql}) < 2 then round(${sql}, 2) else trim_scale(${sql}) end`
const finite = (sql: string) => `nullif(${sql}, 'infinity')`

const WHOSE = [text(USER_HEADER, 'u.id'), text('User ID', IDENTITY), text('Environment', 'v.kind')]

/** Columns of purchases_state, version 2. `p` is the purchase, `l` its lineage, `u` the owner, `d` what is computed. */
export const PURCHASE_STATE_COLUMNS: readonly ExportColumn[] = [
  text('Purchase ID', 'p.id::text'),
  ...WHOSE,
  text('Platform', platformOfStore('p.platform')),
  text('Lineage', 'l.lineage'),
  text('Product ID', 'p.store_product_id'),
  text('Base Plan ID', 'p.base_plan_id'),
  text('Linked Product ID', 'd.product'),
  text('Transaction ID', 'p.transaction_id'),
  text('Original Transaction ID', 'p.original_transaction_id'),
  text('Order ID', 'p.order_id'),
  text('Subscription ID', 'p.subscription_id'),
  boolean('Is Subscription', 'p.is_subscription'),
  text('Period Type', 'p.period_type'),
  text('Currency', 'p.currency'),
  amount('Price', plainAmount('p.amount')),
  amount('Price USD', plainAmount('d.usd')),
  time('Purchase Date', 'p.purchased_at'),
  time('Expires Date', 'p.expires_at'),
  time('Access Until', finite('p.access_until')),
  time('Run Start Date', 'p.run_started_at'),
  boolean('Is Last Period', 'p.is_last'),
  boolean('Auto Renew', 'p.is_subscription and p.auto_renewing'),
  time('Auto Renew Off Date', 'p.auto_renew_off_at'),
  time('Billing Retry Date', 'p.billing_retry_at'),
  time('Grace Period End', 'p.grace_period_expires_at'),
  time('Refund Date', 'p.refunded_at'),
  amount('Refund Amount', plainAmount('d.refunded')),
  boolean('Is Family Shared', 'p.is_family_shared'),
  text('Country', 'p.country'),
  text('Screen ID', 'p.screen_id'),
  time('Verified Date', 'p.verified_at'),
  time('Record Date', 'p.created_at'),
  // Plans and pauses belong to the subscription, as its last period has them; the API shows them there alone, too.
  boolean('Is Paused', 'p.is_subscription and p.is_last and p.is_paused'),
  text('Planned Product ID', 'case when p.is_subscription and p.is_last then p.planned_product end'),
  boolean('Is Discounted', 'p.is_discounted'),
]

/** Columns of subscriptions, version 2. `s` is the subscription, `p` its last period, `e` the last posted event where no purchase is recorded. */
export const SUBSCRIPTION_COLUMNS: readonly ExportColumn[] = [
  ...WHOSE,
  text('Platform', `nullif(s.platform, '')`),
  text('Lineage', 's.lineage'),
  text('Product ID', 'coalesce(p.store_product_id, e.product_id)'),
  text('Base Plan ID', 'p.base_plan_id'),
  text('Linked Product ID', 'd.product'),
  text('Subscription State', `coalesce(s.states[d.n], 'none')`),
  time('State Since', 's.state_at[d.n]'),
  time('Start Date', 's.state_at[1]'),
  time('End Date', `case s.states[cardinality(s.states)] when 'ended' then s.state_at[cardinality(s.states)] end`),
  boolean('Auto Renew', 's.auto_renewing'),
  boolean('Ever Paid', 's.ever_paid'),
  integer('Periods', 'p.periods'),
  time('Period Start', 'p.purchased_at'),
  time('Period End', 'p.expires_at'),
  time('Access Until', finite('p.access_until')),
  time('Auto Renew Off Date', 'p.auto_renew_off_at'),
  time('Billing Retry Date', 'p.billing_retry_at'),
  time('Grace Period End', 'p.grace_period_expires_at'),
  time('Refund Date', 'p.refunded_at'),
  text('Currency', 'p.currency'),
  amount('Price', plainAmount('p.amount')),
  boolean('Is Paused', 's.is_paused'),
  text('Planned Product ID', 's.planned_product'),
  boolean('Is Discounted', 'p.is_discounted'),
]

/** Columns of entitlements, version 1. `a` is what the API shows of the user's entitlement. */
export const ENTITLEMENT_COLUMNS: readonly ExportColumn[] = [
  ...WHOSE,
  text('Entitlement ID', 'a.entitlement_id'),
  boolean('Is Active', 'a.is_active'),
  text(
    'Source',
    `case a.store when 'app_store' then 'appstore' when 'play_store' then 'playstore' when 'stripe' then 'stripe' when 'paddle' then 'paddle' else 'manual' end`,
  ),
  text('Product ID', 'a.product'),
  time('Start Date', 'a.started'),
  time('End Date', finite('a.until')),
]

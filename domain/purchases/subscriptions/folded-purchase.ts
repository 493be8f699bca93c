import { type OfLineage, type PurchaseRow, STORED } from './purchase.ts'

/**
 * The columns from which the state of subscriptions and the facts of users are computed: half of all columns, because a user may have tens
 * of thousands of rows.
 */
const FOLDED = [
  'id',
  'lineage',
  'user_id',
  'platform',
  'store_product_id',
  'base_plan_id',
  'transaction_id',
  'order_id',
  'is_subscription',
  'currency',
  'amount',
  'purchased_at',
  'expires_at',
  'period_type',
  'is_new_buy',
  'auto_renewing',
  'auto_renew_off_at',
  'auto_renew_changes',
  'off_causes',
  'is_paused',
  'planned_product',
  'is_family_shared',
  'country',
  'screen_id',
  'billing_retry_at',
  'grace_period_expires_at',
  'refunded_at',
  'refunded_amount',
  'taken_back',
  'refunds',
  'created_at',
  'updated_at',
  'emitted',
  'credits',
  'plan',
  'proceeds_share',
  'known_country',
  'known_app_version',
  'known_locale',
] as const

export type FoldedPurchase = Pick<PurchaseRow, (typeof FOLDED)[number] | keyof OfLineage | 'posted_back' | 'repeated_refunds'>

/** Lists that are empty in most rows: an empty one is read as null, which Postgres sends without content. */
const LISTS = {
  auto_renew_changes: '{}',
  off_causes: '{}',
  pauses: '{}',
  resumptions: '{}',
  emitted: '{}',
  planned_changes: '[]',
  refunds: '[]',
  credits: '[]',
} as const
export const LIST_NAMES = Object.keys(LISTS) as (keyof typeof LISTS)[]
const withoutEmpty = (name: string) =>
  name in LISTS ? `nullif(p.${name}, '${LISTS[name as keyof typeof LISTS]}') as ${name}` : `p.${name}`

/** Set to a value after the read. Adding a property to so many objects would make each later access to them slow. */
const FILLED_IN = [
  'lineage_name',
  'is_connected',
  'stated_until',
  'whole_until',
  'complete_until',
  'owned_at',
  'was_transferred',
  'posted_back',
  'repeated_refunds',
].map(name => `null as ${name}`)

/** Of `purchases p`: a `FoldedPurchase` without what it has from its lineage, its lists as null where they are empty. */
export const FOLDED_COLUMNS = [...FOLDED.map(withoutEmpty), ...FILLED_IN].join(', ')
/** The same of a `HistoryPurchase`. */
export const HISTORY_COLUMNS = [
  ...STORED.map(withoutEmpty),
  ...FILLED_IN,
  `nullif(p.access_until, 'infinity') as access_until`,
  '(extract(epoch from p.access_until) * 1000)::float8 as stored_access',
].join(', ')
/** `stored_access`: the end of the access in ms as it is stored; null: it was never derived. */
export type HistoryPurchase = PurchaseRow & { stored_access: number | null }

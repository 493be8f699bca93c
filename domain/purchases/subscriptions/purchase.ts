import type { Credit, Plan } from './credits.ts'
import type { OffCause } from './period.ts'
import type { PostedBack, RefundPart, RepeatedRefund } from './refund-parts.ts'

/** The stores of purchases, and the platform that events and users have for each. */
export const TARGET_PLATFORM = { app_store: 'iOS', play_store: 'Android', stripe: 'Stripe', paddle: 'Paddle' } as const
export type Store = keyof typeof TARGET_PLATFORM

/** A higher or lower level than that of the period before. `refunded`: what the store gives back of the period before; null: it does not say. */
export type ProductLevel = { is: 'upgrade'; refunded: string | null } | { is: 'downgrade' }

/** A change of product that the next period was to bring, or that was taken back. `at` in Unix seconds. */
export type PlannedChange = { at: number; product: string; isWithdrawn: boolean }

/** A row of `purchases`, with what concerns its whole lineage. */
export type PurchaseRow = {
  id: number
  lineage: number
  lineage_name: string
  user_id: string | null
  platform: Store
  store_product_id: string
  base_plan_id: string | null
  transaction_id: string | null
  original_transaction_id: string | null
  purchase_token: string | null
  order_id: string | null
  subscription_id: string | null
  store_type: string | null
  is_subscription: boolean
  currency: string
  price: string
  amount: string
  purchased_at: string
  expires_at: string | null
  period_type: 'normal' | 'trial' | 'intro' | null
  is_discounted: boolean
  /** The store calls the period a purchase and not a renewal. */
  is_new_buy: boolean
  auto_renewing: boolean
  auto_renew_off_at: string | null
  /** Unix seconds. */
  auto_renew_changes: number[]
  /** See `Period.offCauses`. */
  off_causes: (OffCause | null)[]
  /** The last pause that began in the period was not over when the next one began. */
  is_paused: boolean
  /** Unix seconds. */
  pauses: number[]
  resumptions: number[]
  /** The store's product that is to come with the next period. */
  planned_product: string | null
  planned_changes: PlannedChange[]
  is_family_shared: boolean
  country: string | null
  screen_id: string | null
  billing_retry_at: string | null
  first_retry_at: string | null
  grace_period_expires_at: string | null
  refunded_at: string | null
  refunded_amount: string | null
  taken_back: string
  /** See `refundPartsOf`. */
  refunds: RefundPart[]
  /** Posted refunds beyond those that are stated of the purchase, and those that repeat them; empty unless the user's history is read. */
  posted_back: PostedBack[]
  repeated_refunds: RepeatedRefund[]
  verified_at: string | null
  never_renews: boolean
  triggers: boolean
  created_at: string
  updated_at: string | null
  access_until: string | null
  run_started_at: string | null
  is_last: boolean
  emitted: string[]
  refund_told: string
  taken_back_told: string
  credits: Credit[]
  credit_told: string
  plan: Plan | null
  subject: string | null
  proceeds_share: string | null
  level: ProductLevel | null
  is_unmapped: boolean
  /** Last known of the user when the purchase was recorded. */
  known_country: string | null
  known_app_version: string | null
  known_locale: string | null
  /** Of the lineage. */
  is_connected: boolean
  stated_until: string | null
  whole_until: string | null
  complete_until: string | null
  owned_at: string | null
  was_transferred: boolean
}

/** Columns of `purchases` that a `PurchaseRow` has as they are stored. */
export const STORED = [
  'id',
  'lineage',
  'user_id',
  'platform',
  'store_product_id',
  'base_plan_id',
  'transaction_id',
  'original_transaction_id',
  'purchase_token',
  'order_id',
  'subscription_id',
  'store_type',
  'is_subscription',
  'currency',
  'price',
  'amount',
  'purchased_at',
  'expires_at',
  'period_type',
  'is_discounted',
  'is_new_buy',
  'auto_renewing',
  'auto_renew_off_at',
  'auto_renew_changes',
  'off_causes',
  'is_paused',
  'pauses',
  'resumptions',
  'planned_product',
  'planned_changes',
  'is_family_shared',
  'country',
  'screen_id',
  'billing_retry_at',
  'first_retry_at',
  'grace_period_expires_at',
  'refunded_at',
  'refunded_amount',
  'taken_back',
  'refunds',
  'verified_at',
  'never_renews',
  'triggers',
  'created_at',
  'updated_at',
  'run_started_at',
  'is_last',
  'emitted',
  'refund_told',
  'taken_back_told',
  'credits',
  'credit_told',
  'plan',
  'subject',
  'proceeds_share',
  'level',
  'is_unmapped',
  'known_country',
  'known_app_version',
  'known_locale',
] as const

/** Of `lineages l`, without the id: what a purchase has from its lineage. */
export const LINEAGE_COLUMNS = [
  'l.lineage as lineage_name',
  'l.is_connected',
  'l.stated_until',
  'l.whole_until',
  'l.complete_until',
  'l.owned_at',
  'l.transferred_at is not null as was_transferred',
].join(', ')
export type OfLineage = Pick<
  PurchaseRow,
  'lineage_name' | 'is_connected' | 'stated_until' | 'whole_until' | 'complete_until' | 'owned_at' | 'was_transferred'
>

/** Of `purchases p join lineages l`. */
export const PURCHASE_COLUMNS = [
  ...STORED.map(name => `p.${name}`),
  `nullif(p.access_until, 'infinity') as access_until`,
  `'[]'::jsonb as posted_back`,
  `'[]'::jsonb as repeated_refunds`,
  LINEAGE_COLUMNS,
].join(', ')

/** The product id as the API shows it: with the base plan of Google Play, if there is one. */
export const shownProduct = ({ store_product_id, base_plan_id }: Pick<PurchaseRow, 'store_product_id' | 'base_plan_id'>): string =>
  base_plan_id === null ? store_product_id : `${store_product_id}:${base_plan_id}`

/** When a fact of the purchase was recorded last. */
export const recordedAt = ({ created_at, updated_at }: Pick<PurchaseRow, 'created_at' | 'updated_at'>): string => updated_at ?? created_at

import type { FoldedPeriod } from './store-facts/fold.ts'
import type { PurchaseRow } from './subscriptions/purchase.ts'

type Fact =
  | 'store_product_id'
  | 'base_plan_id'
  | 'transaction_id'
  | 'original_transaction_id'
  | 'purchase_token'
  | 'order_id'
  | 'subscription_id'
  | 'store_type'
  | 'is_subscription'
  | 'currency'
  | 'price'
  | 'amount'
  | 'purchased_at'
  | 'expires_at'
  | 'period_type'
  | 'is_discounted'
  | 'is_new_buy'
  | 'auto_renewing'
  | 'auto_renew_off_at'
  | 'auto_renew_changes'
  | 'off_causes'
  | 'is_paused'
  | 'pauses'
  | 'resumptions'
  | 'planned_product'
  | 'planned_changes'
  | 'is_family_shared'
  | 'country'
  | 'billing_retry_at'
  | 'first_retry_at'
  | 'grace_period_expires_at'
  | 'refunded_at'
  | 'refunded_amount'
  | 'taken_back'
  | 'refunds'
  | 'never_renews'
  | 'proceeds_share'
  | 'level'
  | 'credits'
  | 'plan'
  | 'subject'

/** The columns of a purchase that stores decide. */
export type PurchaseFacts = Pick<PurchaseRow, Fact>

const second = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`

/** A purchase as computed from the statements of its lineage. An id that no statement has stays as it was recorded. */
export function statedFactsOf(period: FoldedPeriod, recorded: PurchaseRow | undefined): PurchaseFacts {
  const { ids, autoRenewChanges: changes, refund, retry } = period
  const offSince = changes.length % 2 === 1 ? changes.at(-1)! : null
  return {
    store_product_id: period.product,
    base_plan_id: period.basePlan,
    transaction_id: ids.transaction ?? recorded?.transaction_id ?? null,
    original_transaction_id: ids.originalTransaction ?? recorded?.original_transaction_id ?? null,
    purchase_token: ids.token ?? recorded?.purchase_token ?? null,
    order_id: ids.order ?? recorded?.order_id ?? null,
    subscription_id: ids.subscription ?? recorded?.subscription_id ?? null,
    store_type: ids.storeType ?? recorded?.store_type ?? null,
    is_subscription: period.isSubscription,
    currency: period.currency,
    price: period.price,
    amount: period.price,
    purchased_at: period.begins,
    expires_at: period.ends,
    period_type: period.periodType,
    is_discounted: period.isDiscounted,
    is_new_buy: period.isNewBuy,
    auto_renewing: period.autoRenews,
    auto_renew_off_at: offSince === null ? null : second(offSince),
    auto_renew_changes: changes,
    off_causes: period.offCauses,
    is_paused: period.isPaused,
    pauses: period.pauses,
    resumptions: period.resumptions,
    planned_product: period.plannedProduct,
    planned_changes: period.plannedChanges,
    is_family_shared: period.isFamilyShared,
    country: period.country,
    billing_retry_at: retry.since,
    first_retry_at: retry.first,
    grace_period_expires_at: retry.graceUntil,
    refunded_at: refund.at,
    refunded_amount: refund.amount,
    taken_back: refund.takenBack,
    refunds: refund.parts,
    never_renews: period.neverRenews,
    proceeds_share: period.proceedsShare,
    level: period.level,
    credits: period.credits,
    plan: period.plan,
    subject: period.subject,
  }
}

/** The types of the columns in Postgres. */
export const FACT_TYPES: Record<Fact, string> = {
  store_product_id: 'text',
  base_plan_id: 'text',
  transaction_id: 'text',
  original_transaction_id: 'text',
  purchase_token: 'text',
  order_id: 'text',
  subscription_id: 'text',
  store_type: 'text',
  is_subscription: 'boolean',
  currency: 'text',
  price: 'text',
  amount: 'numeric',
  purchased_at: 'timestamptz',
  expires_at: 'timestamptz',
  period_type: 'text',
  is_discounted: 'boolean',
  is_new_buy: 'boolean',
  auto_renewing: 'boolean',
  auto_renew_off_at: 'timestamptz',
  auto_renew_changes: 'bigint[]',
  off_causes: 'text[]',
  is_paused: 'boolean',
  pauses: 'bigint[]',
  resumptions: 'bigint[]',
  planned_product: 'text',
  planned_changes: 'jsonb',
  is_family_shared: 'boolean',
  country: 'text',
  billing_retry_at: 'timestamptz',
  first_retry_at: 'timestamptz',
  grace_period_expires_at: 'timestamptz',
  refunded_at: 'timestamptz',
  refunded_amount: 'numeric',
  taken_back: 'numeric',
  refunds: 'jsonb',
  never_renews: 'boolean',
  proceeds_share: 'numeric',
  level: 'jsonb',
  credits: 'jsonb',
  plan: 'jsonb',
  subject: 'text',
}

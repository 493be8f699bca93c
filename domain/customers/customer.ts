/** What a customer's subscriptions make of it, by code point. */
export const STATUSES = ['active', 'billing_retry', 'canceled', 'canceled_trial', 'churned', 'none', 'trial'] as const
export type Status = (typeof STATUSES)[number]
export type TargetPlatform = 'iOS' | 'Android' | 'Stripe' | 'Paddle'

export type CustomerRow = {
  id: string
  identity_id: string | null
  custom_uid: string | null
  status: Status
  created_at: string
  last_seen_at: string
  first_transaction_at: string | null
  last_payment_at: string | null
  payments_count: number
  purchase_currency: string | null
  purchase_product_id: string | null
  net_payments_usd: number
  platform: TargetPlatform | null
  country: string | null
  device_model: string | null
  device_id: string | null
  os_version: string | null
}

/** Of `users u`. */
export const CUSTOMER_COLUMNS = `u.id, u.identity_id, u.properties ->> '_q_custom_user_id' as custom_uid, u.status, u.created_at, u.last_seen_at,
  u.first_transaction_at, u.last_payment_at, u.payments_count, u.purchase_currency, nullif(u.purchase_product_id, '') as purchase_product_id,
  round(u.net_payments_usd, 2)::float8 as net_payments_usd, u.platform, u.country, u.device_model, u.device_id, u.os_version`

import type { Platform } from '../kernel/platform.ts'

/** An event and its user, as integrations receive them. Times are epoch seconds, amounts decimal strings; null: unknown. */
export type OutgoingEvent = {
  environment: 'production' | 'sandbox'
  /** The log's id (`evt_…`); `event_id` is the id that the caller sent, else the log's id. */
  id: string
  event_id: string
  /** `name` is the slug; `outgoing_name` is its name in the integration's mapping, else the slug. */
  name: string
  outgoing_name: string
  happened_at: number
  received_at: number
  platform: Platform | null
  product_id: string | null
  old_product_id: string | null
  new_product_id: string | null
  subscription_group: string | null
  screen_id: string | null
  /** Why a subscription ended. */
  reason: string | null
  is_voluntary: boolean | null
  is_discounted: boolean | null
  transaction: {
    transaction_id: string | null
    original_transaction_id: string | null
    transaction_date: number | null
    expires_at: number | null
    grace_period_expires_at: number | null
  } | null
  /** Null for events without a value. */
  money: { price: string; currency: string; proceeds: string | null; price_usd: string | null; proceeds_usd: string | null } | null
  /** From the event, else the last known device of the user. */
  device: {
    id: string | null
    model: string | null
    advertiser_id: string | null
    os_version: string | null
    locale: string | null
    country: string | null
    ip: string | null
  }
  app: { id: string | null; name: string | null; version: string | null; sdk_version: string | null }
  attribution: { media_source: string | null; campaign: string | null; ad_set: string | null; ad: string | null }
  /** Properties of the event, not of the user. */
  properties: Record<string, string | number | boolean> | null
  user: { id: string; identity_id: string | null; properties: Record<string, string>; created_at: number } | null
  /** Whether price or proceeds is the revenue (the integration's configuration). */
  revenue: 'price' | 'proceeds'
  /** Whether it is the sample of a test. */
  test: boolean
  /** The automation step that sends it; absent for other deliveries. */
  automation?: { id: string; version: number; run_id: string; step_id: string }
}

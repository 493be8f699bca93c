/** An event and its user as integrations see them. Times are epoch seconds, amounts decimal strings; null = unknown. */
export type Occurrence = {
  /** Production or sandbox. */
  environment: 'production' | 'sandbox'
  /** The log's id (`evt_…`); `event_id` is the caller's own. */
  id: string
  event_id: string
  /** Slug, and the name that goes out (the config's mapping, else the slug). */
  name: string
  outgoing_name: string
  happened_at: number
  received_at: number
  platform: 'iOS' | 'Android' | 'Stripe' | 'Paddle' | null
  product_id: string | null
  old_product_id: string | null
  new_product_id: string | null
  subscription_group: string | null
  screen_id: string | null
  transaction: {
    transaction_id: string | null
    original_transaction_id: string | null
    transaction_date: number | null
    expires_at: number | null
    grace_period_expires_at: number | null
  } | null
  /** Null for events without value. */
  money: { price: string; currency: string; proceeds: string | null; price_usd: string | null; proceeds_usd: string | null } | null
  /** From the event, else the user's last known. */
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
  /** The event's own. */
  properties: Record<string, string | number | boolean> | null
  user: { id: string; identity_id: string | null; properties: Record<string, string>; created_at: number } | null
  /** Which of price and proceeds is the revenue (the integration's config). */
  revenue: 'price' | 'proceeds'
  /** A sample that a test sends. */
  test: boolean
  /** The automation step that sends it; only then. */
  automation?: { id: string; version: number; run_id: string; step_id: string }
}

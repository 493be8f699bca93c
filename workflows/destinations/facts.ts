import type { Occurrence } from '../../domain/integrations/occurrence.ts'

export type Value = string | number | boolean
export type Maybe = Value | null | undefined

/**
 * What is known of the event, for vendors that take properties under any name: what counts first, then the event's own under the names
 * that are left.
 */
export function facts(occurrence: Occurrence, deliveryId: string): Record<string, Value> {
  const { transaction, money, device, app, attribution } = occurrence
  const revenue = revenueOf(occurrence)
  const told = known({
    delivery_id: deliveryId,
    event_id: occurrence.event_id,
    environment: occurrence.environment,
    test: occurrence.test || null,
    revenue: revenue?.amount,
    revenue_is_proceeds: revenue?.isProceeds,
    currency: money?.currency,
    price: money && Number(money.price),
    price_usd: money?.price_usd && Number(money.price_usd),
    transaction_id: transaction?.transaction_id,
    original_transaction_id: transaction?.original_transaction_id,
    product_id: occurrence.product_id,
    old_product_id: occurrence.old_product_id,
    new_product_id: occurrence.new_product_id,
    subscription_group: occurrence.subscription_group,
    expires_at: isoTime(transaction?.expires_at),
    platform: occurrence.platform,
    screen_id: occurrence.screen_id,
    country: device.country,
    locale: device.locale,
    app_version: app.version,
    media_source: attribution.media_source,
    campaign: attribution.campaign,
    ad_set: attribution.ad_set,
    ad: attribution.ad,
  })
  return { ...told, ...known(occurrence.properties ?? {}), ...told }
}

export type Revenue = { amount: number; currency: string; isProceeds: boolean }

/** Price or proceeds as the integration asks; the price where proceeds are not known. Null for an event without value. */
export function revenueOf({ money, revenue }: Occurrence): Revenue | null {
  if (!money) return null
  const isProceeds = revenue === 'proceeds' && money.proceeds !== null
  return { amount: Number(isProceeds ? money.proceeds : money.price), currency: money.currency, isProceeds }
}

export const isoTime = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined ? null : new Date(seconds * 1000).toISOString()

/** Without the fields that have no value. */
export const known = (fields: Record<string, Maybe>): Record<string, Value> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== '')) as Record<
    string,
    Value
  >

/** Every value as text of at most `max` characters, for vendors that take nothing else. */
export const asText = (fields: Record<string, Value>, max: number): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value).slice(0, max).toWellFormed()]))

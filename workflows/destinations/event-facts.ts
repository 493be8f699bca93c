import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'

export type FactValue = string | number | boolean
export type OptionalFact = FactValue | null | undefined

/**
 * The known facts of an event, for vendors that accept properties of any name: first this service's own facts, then the event's properties
 * whose names are still free.
 */
export function eventFacts(occurrence: OutgoingEvent, deliveryId: string): Record<string, FactValue> {
  const { transaction, money, device, app, attribution } = occurrence
  const revenue = revenueOf(occurrence)
  const known = withoutEmpty({
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
    reason: occurrence.reason,
    is_voluntary: occurrence.is_voluntary,
    is_discounted: occurrence.is_discounted,
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
  return { ...known, ...withoutEmpty(occurrence.properties ?? {}), ...known }
}

export type Revenue = { amount: number; currency: string; isProceeds: boolean }

/** Price or proceeds, as the integration is configured; the price where proceeds are unknown. Null for an event without money. */
export function revenueOf({ money, revenue }: OutgoingEvent): Revenue | null {
  if (!money) return null
  const isProceeds = revenue === 'proceeds' && money.proceeds !== null
  return { amount: Number(isProceeds ? money.proceeds : money.price), currency: money.currency, isProceeds }
}

export const isoTime = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined ? null : new Date(seconds * 1000).toISOString()

/** Leaves out the fields without a value. */
export const withoutEmpty = (fields: Record<string, OptionalFact>): Record<string, FactValue> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== '')) as Record<
    string,
    FactValue
  >

/** Every value as text of at most `max` characters, for vendors that accept only text. */
export const asText = (fields: Record<string, FactValue>, max: number): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value).slice(0, max).toWellFormed()]))

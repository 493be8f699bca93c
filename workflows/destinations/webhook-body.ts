import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'

/** A number where it can be exact: most ids of the stores are digits. */
function idOf(id: string | null): string | number | null {
  if (id === null || !/^\d+$/.test(id)) return id
  const number = Number(id)
  // A leading zero is part of the id.
  return Number.isSafeInteger(number) && String(number) === id ? number : id
}

const numberOf = (decimal: string | null) => (decimal === null ? null : Number(decimal))

function revenueOf({ money, revenue }: OutgoingEvent) {
  if (!money) return null
  const { price, price_usd, proceeds, proceeds_usd, currency } = money
  const rate = proceeds === null || Number(price) === 0 ? 100 : Math.round((Number(proceeds) / Number(price)) * 100)
  const isProceeds = revenue === 'proceeds' && proceeds !== null
  return {
    value: Number(isProceeds ? proceeds : price),
    value_usd: numberOf(isProceeds ? proceeds_usd : price_usd),
    currency,
    is_proceed: isProceeds ? 1 : 0,
    proceeds_rate: rate,
  }
}

function priceOf({ money }: OutgoingEvent) {
  return money && { value: Number(money.price), value_usd: numberOf(money.price_usd), currency: money.currency }
}

function transactionOf({ transaction }: OutgoingEvent) {
  return (
    transaction && {
      transaction_id: idOf(transaction.transaction_id),
      original_transaction_id: idOf(transaction.original_transaction_id),
      transaction_date: transaction.transaction_date,
      expires: transaction.expires_at,
      grace_period_expires: transaction.grace_period_expires_at,
    }
  )
}

/** Unknown fields are left out. */
const withoutNull = (fields: Record<string, string | number | boolean | null>) =>
  Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== null))

/** The body of an outgoing webhook for an event. */
export function webhookBody(occurrence: OutgoingEvent): Record<string, unknown> {
  const { user, device, app, attribution, properties, automation } = occurrence
  return {
    event_name: occurrence.outgoing_name,
    user_id: user?.id ?? '',
    custom_user_id: user?.properties._q_custom_user_id ?? '',
    identity_id: user?.identity_id ?? '',
    advertiser_id: device.advertiser_id ?? '',
    device_id: device.id ?? '',
    time: occurrence.happened_at,
    created_at: occurrence.received_at,
    product_id: occurrence.product_id ?? '',
    revenue: revenueOf(occurrence),
    price: priceOf(occurrence),
    transaction: transactionOf(occurrence),
    properties: user?.properties ?? {},
    app_version: app.version ?? '',
    sdk_version: app.sdk_version ?? '',
    ip: device.ip ?? '',
    environment: occurrence.environment,
    platform: occurrence.platform ?? '',
    event_id: occurrence.event_id,
    ...withoutNull({
      country: device.country,
      locale: device.locale,
      subscription_group: occurrence.subscription_group,
      media_source: attribution.media_source,
      campaign: attribution.campaign,
      ad_set: attribution.ad_set,
      ad: attribution.ad,
      old_product_id: occurrence.old_product_id,
      new_product_id: occurrence.new_product_id,
      reason: occurrence.reason,
      is_voluntary: occurrence.is_voluntary,
      is_discounted: occurrence.is_discounted,
      user_install_date: user?.created_at ?? null,
    }),
    ...(properties && { event_properties: properties }),
    ...(automation && { automation }),
    ...(occurrence.test && { test: true }),
  }
}

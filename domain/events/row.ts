import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { eventType } from './catalogue.ts'
import { isoMicros, micros } from './instant.ts'
import type { EventInput } from './item.ts'
import { decimal, negated } from './money.ts'
import { partitionOf } from './partition.ts'
import { defaultProceeds } from './proceeds.ts'

/** One row of the log, without what the log itself gives it (offset, receipt). */
export type EventRow = {
  partition: number
  id: string
  event_id: string
  name: string
  user_id: string | null
  happened_at: string
  transaction_key: string | null
  [column: string]: string | number | null
}

/** Refunds and rests are stored negative, whatever sign they came with. */
function signed(amount: string | undefined, out: boolean): string | null {
  if (amount === undefined) return null
  const plain = decimal(amount)
  return out && !plain.startsWith('-') ? negated(plain) : plain
}

/** The store transaction that an event may begin once only, whatever told us of it first. */
export function transactionKey(item: EventInput, platform: string | null): string | null {
  const transaction = item.transaction?.transaction_id
  return transaction !== undefined && eventType(item.event_name)?.begins ? `${platform ?? ''}:${transaction}` : null
}

export function toRow(environment: Environment, item: EventInput, user: string | null, platform: string | null): EventRow {
  const type = eventType(item.event_name)
  const out = type?.value === 'out'
  const price = signed(item.price, out)
  const currency = item.currency?.toUpperCase() ?? null
  const proceeds = signed(item.proceeds, out) ?? (price === null ? null : defaultProceeds(price, platform, type))
  const inUsd = currency === 'USD'
  const { transaction = {}, device = {}, app = {}, attribution = {} } = item
  return {
    partition: partitionOf(environment, user ?? item.event_id),
    id: orderedId('evt'),
    event_id: item.event_id,
    name: item.event_name,
    user_id: user,
    happened_at: isoMicros(micros(item.happened_at)),
    transaction_key: transactionKey(item, platform),
    platform,
    product_id: item.product_id || null,
    old_product_id: item.old_product_id || null,
    new_product_id: item.new_product_id || null,
    subscription_group: item.subscription_group || null,
    screen_id: item.screen_id || null,
    transaction_id: transaction.transaction_id || null,
    original_transaction_id: transaction.original_transaction_id || null,
    transaction_date: transaction.transaction_date || null,
    transaction_expires_at: transaction.expires_at || null,
    grace_period_expires_at: transaction.grace_period_expires_at || null,
    price,
    currency,
    proceeds,
    price_usd: signed(item.price_usd, out) ?? (inUsd ? price : null),
    proceeds_usd: signed(item.proceeds_usd, out) ?? (inUsd ? proceeds : null),
    device_id: device.id || null,
    device_model: device.model || null,
    advertiser_id: device.advertiser_id || null,
    os_version: device.os_version || null,
    locale: device.locale || null,
    country: device.country || null,
    ip: device.ip || null,
    app_id: app.id || null,
    app_name: app.name || null,
    app_version: app.version || null,
    sdk_version: app.sdk_version || null,
    media_source: attribution.media_source || null,
    campaign: attribution.campaign || null,
    ad_set: attribution.ad_set || null,
    ad: attribution.ad || null,
    properties: item.properties === undefined ? null : JSON.stringify(item.properties),
  }
}

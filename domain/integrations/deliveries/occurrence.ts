import { publicEventId } from '../../events/entry.ts'
import { outgoingNames } from '../config.ts'
import type { OutgoingEvent } from '../outgoing-event.ts'

const epoch = (column: string, as: string) => `floor(extract(epoch from ${column}))::bigint as ${as}`
/** From the event, else the last value known of the user. */
const known = (column: string) => `coalesce(e.${column}, u.${column}) as ${column}`

/** Columns of an event `e` and of its user `u`, which may be null. Amounts as text. */
export const OCCURRENCE_COLUMNS = `
  e.id as log_id, ${publicEventId('e')} as public_id, e.name, ${epoch('e.happened_at', 'happened_at')},
  ${epoch('e.received_at', 'received_at')}, e.platform,
  e.product_id, e.old_product_id, e.new_product_id, e.subscription_group, e.screen_id, e.reason, e.is_voluntary,
  e.is_discounted, e.transaction_id, e.original_transaction_id,
  ${epoch('e.transaction_date', 'transaction_date')}, ${epoch('e.transaction_expires_at', 'transaction_expires_at')},
  ${epoch('e.grace_period_expires_at', 'grace_period_expires_at')}, e.price, e.currency, e.proceeds, e.price_usd, e.proceeds_usd,
  ${['device_id', 'device_model', 'advertiser_id', 'os_version', 'locale', 'country', 'app_version', 'sdk_version'].map(known).join(', ')},
  ${['media_source', 'campaign', 'ad_set', 'ad'].map(known).join(', ')}, e.ip, e.app_id, e.app_name, e.properties as event_properties,
  u.id as user_id, u.identity_id, u.properties as user_properties, ${epoch('u.created_at', 'user_created_at')}`

type Text = string | null
export type OccurrenceRow = {
  log_id: string
  public_id: string
  name: string
  happened_at: number
  received_at: number
  platform: OutgoingEvent['platform']
  transaction_date: number | null
  transaction_expires_at: number | null
  grace_period_expires_at: number | null
  is_voluntary: boolean | null
  is_discounted: boolean | null
  event_properties: OutgoingEvent['properties']
  user_properties: Record<string, string> | null
  user_created_at: number | null
} & Record<
  | 'product_id'
  | 'old_product_id'
  | 'new_product_id'
  | 'subscription_group'
  | 'screen_id'
  | 'reason'
  | 'transaction_id'
  | 'original_transaction_id'
  | 'price'
  | 'currency'
  | 'proceeds'
  | 'price_usd'
  | 'proceeds_usd'
  | 'device_id'
  | 'device_model'
  | 'advertiser_id'
  | 'os_version'
  | 'locale'
  | 'country'
  | 'app_version'
  | 'sdk_version'
  | 'media_source'
  | 'campaign'
  | 'ad_set'
  | 'ad'
  | 'ip'
  | 'app_id'
  | 'app_name'
  | 'user_id'
  | 'identity_id',
  Text
>

/** The fields of every event that come from the environment and the integration. */
type OccurrenceContext = {
  environment: OutgoingEvent['environment']
  event_mapping: Record<string, string>
  revenue: OutgoingEvent['revenue']
  automation?: OutgoingEvent['automation'] | null
}

function transactionOf(row: OccurrenceRow): OutgoingEvent['transaction'] {
  const transaction = {
    transaction_id: row.transaction_id,
    original_transaction_id: row.original_transaction_id,
    transaction_date: row.transaction_date,
    expires_at: row.transaction_expires_at,
    grace_period_expires_at: row.grace_period_expires_at,
  }
  return Object.values(transaction).every(value => value === null) ? null : transaction
}

function moneyOf({ price, currency, proceeds, price_usd, proceeds_usd }: OccurrenceRow): OutgoingEvent['money'] {
  return price === null || currency === null ? null : { price, currency, proceeds, price_usd, proceeds_usd }
}

/** The event as an integration receives it. */
export function toOccurrence(row: OccurrenceRow, { environment, event_mapping, revenue, automation }: OccurrenceContext): OutgoingEvent {
  const { name, product_id, old_product_id, new_product_id, subscription_group, screen_id, platform, happened_at, received_at } = row
  return {
    environment,
    id: row.log_id,
    event_id: row.public_id,
    name,
    outgoing_name: outgoingNames(event_mapping).get(name) ?? name,
    happened_at,
    received_at,
    platform,
    product_id,
    old_product_id,
    new_product_id,
    subscription_group,
    screen_id,
    reason: row.reason,
    is_voluntary: row.is_voluntary,
    is_discounted: row.is_discounted,
    transaction: transactionOf(row),
    money: moneyOf(row),
    device: {
      id: row.device_id,
      model: row.device_model,
      advertiser_id: row.advertiser_id,
      os_version: row.os_version,
      locale: row.locale,
      country: row.country,
      ip: row.ip,
    },
    app: { id: row.app_id, name: row.app_name, version: row.app_version, sdk_version: row.sdk_version },
    attribution: { media_source: row.media_source, campaign: row.campaign, ad_set: row.ad_set, ad: row.ad },
    properties: row.event_properties,
    user:
      row.user_id === null
        ? null
        : {
            id: row.user_id,
            identity_id: row.identity_id,
            properties: row.user_properties ?? {},
            created_at: row.user_created_at!,
          },
    revenue,
    test: false,
    ...(automation && { automation }),
  }
}

import { CATALOGUE, REFUND_SLUGS } from '../../events/catalogue.ts'
import { publicEventId } from '../../events/entry.ts'

/** `sql` is the value. `kind` determines its form in each file format. */
export type ExportColumn = { header: string; sql: string; kind: 'text' | 'amount' | 'time' | 'boolean' | 'integer' | 'json' }

/** The user's id, a column of every export type. An erasure finds the user's rows by it. */
export const USER_HEADER = 'Q User ID'

export const text = (header: string, sql: string): ExportColumn => ({ header, sql, kind: 'text' })
export const amount = (header: string, sql: string): ExportColumn => ({ header, sql, kind: 'amount' })
export const time = (header: string, sql: string): ExportColumn => ({ header, sql, kind: 'time' })
export const boolean = (header: string, sql: string): ExportColumn => ({ header, sql, kind: 'boolean' })
export const integer = (header: string, sql: string): ExportColumn => ({ header, sql, kind: 'integer' })

export const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`
const TITLE = `case e.name ${CATALOGUE.map(type => `when ${quoted(type.slug)} then ${quoted(type.title)}`).join(' ')} else e.name end`
/** SQL: the identity of the user `u`. */
export const IDENTITY = `coalesce(u.identity_id, nullif(u.properties ->> '_q_custom_user_id', ''))`

/** Columns of events and purchases, version 1. `e` is the event, `u` its user, `p` the project. */
export const EVENT_EXPORT_COLUMNS: readonly ExportColumn[] = [
  time('Event Date', 'e.happened_at'),
  text('Transaction ID', 'e.transaction_id'),
  time('Transaction Date', 'e.transaction_date'),
  text('Event Name', TITLE),
  text('App Name', 'coalesce(e.app_name, p.name)'),
  text('Platform', 'e.platform'),
  text('App ID', `coalesce(e.app_id, case e.platform when 'iOS' then p.bundle_id when 'Android' then p.package_name end)`),
  text('Product ID', 'e.product_id'),
  text('Subscription Group', 'e.subscription_group'),
  text('Currency', 'e.currency'),
  amount('Price', 'e.price'),
  amount('Proceeds', 'e.proceeds'),
  amount('Price USD', 'e.price_usd'),
  amount('Proceeds USD', 'e.proceeds_usd'),
  boolean('Refund', `e.name in (${REFUND_SLUGS.map(quoted).join(', ')})`),
  text(USER_HEADER, 'e.user_id'),
  text('User ID', IDENTITY),
  text('Device', 'coalesce(e.device_model, u.device_model)'),
  text('Device ID', 'coalesce(e.device_id, u.device_id)'),
  text('Locale', 'coalesce(e.locale, u.locale)'),
  text('Country', 'coalesce(e.country, u.country)'),
  text('OS version', 'coalesce(e.os_version, u.os_version)'),
  time('Install Date', 'u.created_at'),
  text('Media source', 'coalesce(e.media_source, u.media_source)'),
  text('Campaign', 'coalesce(e.campaign, u.campaign)'),
  text('Ad Set', 'coalesce(e.ad_set, u.ad_set)'),
  text('Ad', 'coalesce(e.ad, u.ad)'),
  text('App version', 'coalesce(e.app_version, u.app_version)'),
  text('SDK version', 'coalesce(e.sdk_version, u.sdk_version)'),
  { header: 'User properties', sql: 'u.properties_sorted', kind: 'json' },
  time('Event Receive Date', 'e.received_at'),
]

/** Columns that a caller may add to a file of events or purchases, after the documented columns and in this order. */
export type IncludedColumn = 'event_id' | 'properties'
export const INCLUDED_COLUMNS: Record<IncludedColumn, ExportColumn> = {
  // As in webhooks: files and webhooks can be joined, and a repeated row can be recognised.
  event_id: text('Event ID', publicEventId('e')),
  properties: { header: 'Event properties', sql: 'e.properties', kind: 'json' },
}

/** In the order of the columns, each once. */
export const sortedIncluded = (include: readonly IncludedColumn[]): IncludedColumn[] =>
  (Object.keys(INCLUDED_COLUMNS) as IncludedColumn[]).filter(name => include.includes(name))

/** Columns of customers, version 1. `u` is the user, `f` the figures of the user, `v` the environment. */
export const CUSTOMER_EXPORT_COLUMNS: readonly ExportColumn[] = [
  text(USER_HEADER, 'u.id'),
  text('User ID', IDENTITY),
  text('Environment', 'v.kind'),
  time('Install Date', 'u.created_at'),
  time('Last Seen', 'u.last_seen_at'),
  text('Platform', 'u.platform'),
  text('Country', 'u.country'),
  text('Locale', 'u.locale'),
  text('App version', 'u.app_version'),
  text('Media source', 'u.media_source'),
  text('Campaign', 'u.campaign'),
  text('Subscription State', 'f.subscription_state'),
  integer('Purchases Count', 'f.purchases'),
  amount('Revenue USD', 'f.revenue_usd'),
  { header: 'User properties', sql: 'u.properties_sorted', kind: 'json' },
]

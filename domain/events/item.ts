import type { Platform } from '../kernel/platform.ts'
import type { Detail } from '../kernel/refusal.ts'

type Strings<K extends string> = { [key in K]?: string }

/** An event as a client posts it. The request's validator has checked types, patterns and lengths. */
export type EventInput = {
  event_id: string
  event_name: string
  happened_at: string
  customer_uid?: string
  identity_id?: string
  /** When the user began: part of the user's history. */
  created_at?: string
  platform?: Platform
  product_id?: string
  old_product_id?: string
  new_product_id?: string
  subscription_group?: string
  screen_id?: string
  /** Why a subscription ended. */
  reason?: string
  is_voluntary?: boolean
  is_discounted?: boolean
  transaction?: Strings<'transaction_id' | 'original_transaction_id' | 'transaction_date' | 'expires_at' | 'grace_period_expires_at'>
  price?: string
  currency?: string
  proceeds?: string
  price_usd?: string
  proceeds_usd?: string
  device?: Strings<'id' | 'model' | 'advertiser_id' | 'os_version' | 'locale' | 'country' | 'ip'>
  app?: Strings<'id' | 'name' | 'version' | 'sdk_version'>
  attribution?: Strings<'media_source' | 'campaign' | 'ad_set' | 'ad'>
  properties?: Record<string, string | number | boolean>
  /** An app has sent it, and not a server. `sentAt`: when it happened as it was sent, in Unix seconds; null: it sent no time. */
  ofApp?: { sentAt: number | null }
}

/** Begins the ids of a user's app events in the log: no caller can send the first character. `user`: the user's number. */
export const appEventPrefix = (user: number): string => `@${user}`

export type ItemError = { code: 'invalid_data' | 'not_found' | 'idempotency_conflict'; message: string; details?: Detail[] }
/**
 * `triggers` false: the event starts no automation, ends no wait and goes to no integration. `isUnmatched`: a refund whose transaction is not known.
 */
export type ItemResult =
  | { status: 'created'; id: string; triggers: boolean; isUnmatched: boolean }
  | { status: 'duplicate'; id: string }
  | { status: 'rejected'; error: ItemError }

export const invalidItem = (details: Detail[]): ItemError => ({
  code: 'invalid_data',
  message: details.map(d => `${d.field} ${d.message}`).join('; '),
  details,
})

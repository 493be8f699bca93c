import { eventType } from '../events/catalogue.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'
import type { OutgoingEvent } from './outgoing-event.ts'

type SampleInput = {
  environment: EnvironmentKind
  name: string
  outgoingName: string
  revenue: 'price' | 'proceeds' /** ISO. */
  at: string
}

const DAY_SECONDS = 24 * 3600

/** An invented event, marked as a test. Tests and probes send it. */
export function sampleEvent({ environment, name, outgoingName, revenue, at }: SampleInput): OutgoingEvent {
  const now = Math.floor(Date.parse(at) / 1000)
  const value = eventType(name)?.value ?? 'none'
  const sign = value === 'out' ? '-' : ''
  return {
    environment,
    id: 'evt_00000000000000000000',
    event_id: 'test',
    name,
    outgoing_name: outgoingName,
    happened_at: now,
    received_at: now,
    platform: 'iOS',
    product_id: 'premium_monthly',
    old_product_id: null,
    new_product_id: null,
    subscription_group: 'premium',
    screen_id: null,
    reason: null,
    is_voluntary: null,
    is_discounted: null,
    transaction: {
      transaction_id: '1000000000000001',
      original_transaction_id: '1000000000000001',
      transaction_date: now,
      expires_at: now + 7 * DAY_SECONDS,
      grace_period_expires_at: null,
    },
    money:
      value === 'none'
        ? null
        : { price: `${sign}9.99`, currency: 'USD', proceeds: `${sign}6.99`, price_usd: `${sign}9.99`, proceeds_usd: `${sign}6.99` },
    device: {
      id: '00000000-0000-4000-8000-000000000000',
      model: 'iPhone15,2',
      advertiser_id: '00000000-0000-4000-8000-000000000000',
      os_version: '18.0',
      locale: 'en_US',
      country: 'US',
      ip: '192.0.2.1',
    },
    app: { id: 'com.example.app', name: 'Example', version: '1.0.0', sdk_version: '1.0.0' },
    attribution: { media_source: null, campaign: null, ad_set: null, ad: null },
    properties: null,
    user: {
      id: 'QON_00000000000000000000000000000000',
      identity_id: 'test-user',
      properties: { _q_custom_user_id: 'test-user', _q_email: 'test@example.com' },
      created_at: now - 30 * DAY_SECONDS,
    },
    revenue,
    test: true,
  }
}

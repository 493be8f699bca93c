import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'

/** A renewal by the user anna on an iPhone, with a value for every field. */
export const occurrence = (more: Partial<OutgoingEvent> = {}): OutgoingEvent => ({
  environment: 'production',
  id: 'evt_AAAAAAAAAAAAAAAAAAAA',
  event_id: 'order-1001',
  name: 'subscription_renewed',
  outgoing_name: 'subscription_renewed',
  happened_at: 1_772_366_400,
  received_at: 1_772_366_460,
  platform: 'iOS',
  product_id: 'pro_monthly',
  old_product_id: null,
  new_product_id: null,
  subscription_group: 'pro',
  screen_id: null,
  transaction: {
    transaction_id: '2000000123456789',
    original_transaction_id: '2000000000000001',
    transaction_date: 1_772_366_400,
    expires_at: 1_775_044_800,
    grace_period_expires_at: null,
  },
  money: { price: '9.99', currency: 'EUR', proceeds: '8.49', price_usd: '10.89', proceeds_usd: '9.25' },
  device: {
    id: '0A1B2C3D-0000-4000-8000-00000000000A',
    model: 'iPhone14,2',
    advertiser_id: '6D92078A-8246-4BA4-AE5B-76104861E7DC',
    os_version: '19.1',
    locale: 'de-DE',
    country: 'DE',
    ip: '203.0.113.9',
  },
  app: { id: 'com.example.app', name: 'Example', version: '3.2.1', sdk_version: '6.0.0' },
  attribution: { media_source: 'organic', campaign: 'spring', ad_set: null, ad: null },
  properties: { coupon: 'SPRING', step: 3, is_gift: false },
  user: {
    id: 'QON_0000000000000000000000000000001',
    identity_id: 'anna',
    properties: {
      color: 'blue',
      _q_email: 'Anna@Example.com',
      _q_appsflyer_user_id: '1415211453000-6513894',
      _q_adjust_adid: '3b35fcfb6115cff59fd4a2b3d1d8d3a1',
      _q_fb_attribution: 'XZ5A7A0B-1C2D-4E3F-8A9B-0C1D2E3F4A5B',
      _q_firebase_instance_id: '0123456789abcdef0123456789abcdef',
      _q_kochava_device_id: 'KI5221c4c6',
      _q_tenjin_aiid: '29eeb1610fe74997b6d53f02e9711f8c',
      _q_pushwoosh_hwid: '8f65b16df378e7a6bece9614e1530fb2',
    },
    created_at: 1_770_000_000,
  },
  revenue: 'price',
  test: false,
  ...more,
})

/** Only the user and the fields that vendors require have values. */
export const bareOccurrence = (more: Partial<OutgoingEvent> = {}): OutgoingEvent =>
  occurrence({
    name: 'trial_started',
    outgoing_name: 'trial_started',
    platform: 'Android',
    product_id: null,
    subscription_group: null,
    transaction: null,
    money: null,
    device: { id: null, model: null, advertiser_id: null, os_version: null, locale: null, country: null, ip: null },
    app: { id: null, name: null, version: null, sdk_version: null },
    attribution: { media_source: null, campaign: null, ad_set: null, ad: null },
    properties: null,
    ...more,
  })

import { amountOf, basicUser, currency, formFields, matching, object, oneOf, string, type Vendor } from './vendor.ts'

const OPTIONAL = ['developer_device_id', 'app_version', 'country', 'locale', 'device_model', 'ip_address', 'customer_user_id', 'product_id']

export const tenjin: Vendor = {
  slug: 'tenjin',
  settings: { app_bundle_id: 'com.example.app', sdk_key: 'right' },
  wrongKey: { sdk_key: 'wrong' },
  paths: /^POST \/v0\/(event|purchase)$/,
  isAuthorized: seen => basicUser(seen)[0] === 'right',
  body: {
    ...object(
      {
        analytics_installation_id: string(),
        advertising_id: string(),
        bundle_id: string(),
        platform: oneOf('ios', 'android'),
        os_version: string(),
        sdk_version: oneOf('server'),
      },
      {
        ...formFields(...OPTIONAL, 'event'),
        postcut: oneOf('1'),
        limit_ad_tracking: oneOf('0', '1'),
        sent_at: matching('^\\d{13}$'),
        price: matching('^\\d+(\\.\\d+)?$'),
        currency,
        quantity: matching('^\\d+$'),
      },
    ),
    dependentRequired: { price: ['currency', 'quantity', 'product_id'] },
  },
  ok: { status: 200, body: { code: 200 } },
  unauthorized: { status: 200, body: { code: 401 } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { code: 429 } },
  malformed: faults => ({ status: 400, body: { code: 400, message: faults } }),
  refused: { status: 200, body: { code: 400 } },
  dedup: null,
  revenue: ({ body }) => amountOf(body.price, body.currency),
  who: ({ body }) => body.customer_user_id,
  noRefunds: true,
}

import { amountOf, currency, formFields, matching, object, oneOf, string, type Vendor } from './vendor.ts'

const IDS = ['idfa', 'idfv', 'aifa', 'andi']

/** Singular returns 200 for everything. */
export const singular: Vendor = {
  slug: 'singular',
  settings: { sdk_key: 'right', app_bundle_id: 'com.example.app' },
  wrongKey: { sdk_key: 'wrong' },
  paths: /^POST \/api\/v1\/evt$/,
  isAuthorized: ({ body }) => body?.a === 'right',
  body: {
    ...object(
      { a: string(), i: string(), p: oneOf('iOS', 'Android'), n: matching('^[\\x20-\\x7e]{1,32}$'), ve: string() },
      {
        ...formFields(...IDS, 'ip', 'mo', 'lc', 'app_v', 'custom_user_id', 'purchase_product_id', 'purchase_transaction_id'),
        e: string(100_000),
        use_ip: oneOf('true'),
        utime: matching('^\\d{10}$'),
        is_revenue_event: oneOf('true'),
        amt: matching('^-?\\d+(\\.\\d+)?$'),
        cur: currency,
      },
    ),
    anyOf: IDS.map(name => ({ required: [name] })),
    oneOf: [{ required: ['ip'] }, { required: ['use_ip'] }],
    dependentRequired: { amt: ['cur'] },
  },
  ok: { status: 200, body: { status: 'ok' } },
  unauthorized: { status: 200, body: { status: 'error', reason: 'invalid api key' } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'Too Many Requests' },
  malformed: faults => ({ status: 200, body: { status: 'error', reason: faults } }),
  refused: { status: 200, body: { status: 'error', reason: 'unsupported platform' } },
  dedup: ({ body }) => JSON.parse(body.e).delivery_id,
  revenue: ({ body }) => amountOf(body.amt, body.cur),
  who: ({ body }) => body.custom_user_id,
}

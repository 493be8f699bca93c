import { amountOf, currency, formFields, matching, object, oneOf, string, type Vendor } from './vendor.ts'

const DEVICES = ['adid', 'idfa', 'gps_adid', 'idfv', 'android_id']

export const adjust: Vendor = {
  slug: 'adjust',
  settings: { app_token: '4w565xzmb54d', s2s_token: 'right' },
  wrongKey: { s2s_token: 'wrong' },
  paths: /^POST \/event$/,
  isAuthorized: ({ headers }) => headers.authorization === 'Bearer right',
  body: {
    ...object(
      { s2s: oneOf('1'), app_token: matching('^[a-z0-9]{12}$'), event_token: matching('^[a-z0-9]{6}$') },
      {
        ...formFields(...DEVICES, 'ip_address'),
        environment: oneOf('production', 'sandbox'),
        created_at_unix: matching('^\\d{10}$'),
        deduplication_id: string(64),
        revenue: matching('^\\d+(\\.\\d+)?$'),
        currency,
        callback_params: string(100_000),
        partner_params: string(100_000),
      },
    ),
    anyOf: DEVICES.map(name => ({ required: [name] })),
    dependentRequired: { revenue: ['currency'], currency: ['revenue'] },
  },
  ok: { status: 200, body: 'OK' },
  unauthorized: { status: 401, body: { error: 'Event request failed (Failed to authorize request)' } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { error: 'Event request failed (Too many requests)' } },
  malformed: faults => ({ status: 400, body: { error: `Event request failed (${faults})` } }),
  refused: { status: 404, body: { error: 'Event request failed (Device not found)' } },
  dedup: ({ body }) => body.deduplication_id,
  revenue: ({ body }) => amountOf(body.revenue, body.currency),
  who: ({ body }) => body.adid,
  noRefunds: true,
}

import { amountOf, currency, flat, integer, milliseconds, number, object, one, string, type Vendor } from './vendor.ts'

const event = {
  ...object(
    { event_type: string(), time: milliseconds, insert_id: string(), event_properties: flat, user_properties: flat },
    {
      ...{ user_id: string(), device_id: string(), app_version: string(), platform: string(), os_name: string(), os_version: string() },
      ...{ device_model: string(), country: string(), language: string(), ip: string(), idfa: string(), adid: string() },
      ...{ price: number, quantity: integer, revenue: number, currency, productId: string(), revenueType: string() },
    },
  ),
  anyOf: [{ required: ['user_id'] }, { required: ['device_id'] }],
}

export const amplitude: Vendor = {
  slug: 'amplitude',
  settings: { api_key: 'right' },
  wrongKey: { api_key: 'wrong' },
  paths: /^POST \/2\/httpapi$/,
  isAuthorized: ({ body }) => body?.api_key === 'right',
  body: object({ api_key: string(), events: one(event) }, { options: object({}, { min_id_length: integer }) }),
  ok: { status: 200, body: { code: 200, server_upload_time: 1396381378123, payload_size_bytes: 1234, events_ingested: 1 } },
  unauthorized: { status: 400, body: { code: 400, error: 'Invalid API key: wrong' } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { code: 429, error: 'Too many requests for some devices and users' } },
  malformed: faults => ({ status: 400, body: { code: 400, error: `Request missing required field: ${faults}` } }),
  refused: { status: 400, body: { code: 400, error: 'Invalid field values on some events', events_with_invalid_fields: { time: [0] } } },
  dedup: ({ body }) => body.events[0].insert_id,
  revenue: ({ body }) => amountOf(body.events[0].revenue, body.events[0].currency),
  who: ({ body }) => body.events[0].user_id ?? body.events[0].device_id,
}

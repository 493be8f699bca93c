import { amountOf, flat, isoTime, matching, object, one, string, type Vendor } from './vendor.ts'

export const onesignal: Vendor = {
  slug: 'onesignal',
  settings: { app_id: 'app-1', rest_api_key: 'right' },
  wrongKey: { rest_api_key: 'wrong' },
  paths: /^POST \/apps\/app-1\/custom_events$/,
  isAuthorized: ({ headers }) => headers.authorization === 'Key right',
  body: object({
    events: one(
      object(
        { name: string(128), external_id: string(128) },
        { timestamp: isoTime, idempotency_key: matching('^[0-9a-f-]{36}$'), properties: flat },
      ),
    ),
  }),
  ok: { status: 200, body: {} },
  unauthorized: { status: 403, body: { errors: ['Access denied'] } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { errors: ['API rate limit exceeded'] } },
  malformed: faults => ({ status: 400, body: { errors: [faults] } }),
  refused: {
    status: 202,
    body: { errors: [{ event_id: 'x', error: { code: 'not found', title: 'failed to find a onesignal_id for user_id anna' } }] },
  },
  dedup: ({ body }) => body.events[0].idempotency_key,
  revenue: ({ body }) => amountOf(body.events[0].properties.revenue, body.events[0].properties.currency),
  who: ({ body }) => body.events[0].external_id,
}

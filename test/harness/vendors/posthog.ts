import { amountOf, isoTime, matching, object, string, type Vendor } from './vendor.ts'

export const posthog: Vendor = {
  slug: 'posthog',
  settings: { project_api_key: 'phc_right' },
  wrongKey: { project_api_key: 'wrong' },
  paths: /^POST \/i\/v0\/e\/$/,
  isAuthorized: ({ body }) => body?.api_key === 'phc_right',
  body: object({
    api_key: string(),
    event: string(200),
    distinct_id: string(200),
    timestamp: isoTime,
    uuid: matching('^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'),
    properties: { type: 'object' },
  }),
  ok: { status: 200, body: { status: 'Ok' } },
  unauthorized: { status: 401, body: 'API key is not valid' },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { type: 'throttled_error', code: 'throttled' } },
  malformed: faults => ({ status: 400, body: faults }),
  refused: { status: 400, body: 'event submitted without a distinct_id' },
  dedup: ({ body }) => body.uuid,
  revenue: ({ body }) => amountOf(body.properties.revenue, body.properties.currency),
  who: ({ body }) => body.distinct_id,
}

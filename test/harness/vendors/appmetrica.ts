import { parse } from 'csv-parse/sync'
import { amountOf, matching, object, oneOf, type Seen, string, type Vendor } from './vendor.ts'

const required = { application_id: matching('^\\d+$'), event_name: string(), event_timestamp: matching('^\\d{10}$') }
const optional = {
  profile_id: string(),
  appmetrica_device_id: matching('^\\d+$'),
  event_json: string(200_000),
  session_type: oneOf('foreground', 'background'),
  ios_ifa: string(),
  ios_ifv: string(),
  google_aid: string(),
  os_name: oneOf('ios', 'android'),
  os_version: string(),
  device_model: string(),
  device_locale: string(),
  app_version_name: string(),
  app_package_name: string(),
}
const inJson = ({ body }: Seen) => JSON.parse(body[0].event_json)

export const appmetrica: Vendor = {
  slug: 'appmetrica',
  settings: { application_id: '4321', post_api_key: 'right' },
  wrongKey: { post_api_key: 'wrong' },
  paths: /^POST \/logs\/v1\/import\/events\.csv$/,
  isAuthorized: ({ query }) => query.post_api_key === 'right',
  query: object({ post_api_key: string() }),
  read: text => parse(text, { columns: true }),
  body: {
    type: 'array',
    minItems: 1,
    maxItems: 1,
    items: { ...object(required, optional), oneOf: [{ required: ['profile_id'] }, { required: ['appmetrica_device_id'] }] },
  },
  ok: { status: 200, body: 'OK' },
  unauthorized: { status: 403, body: 'Forbidden' },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'Too Many Requests' },
  malformed: faults => ({ status: 400, body: faults }),
  refused: { status: 400, body: 'Event timestamp is too old' },
  dedup: seen => inJson(seen).delivery_id,
  revenue: seen => amountOf(inJson(seen).revenue, inJson(seen).currency),
  who: ({ body }) => body[0].appmetrica_device_id ?? body[0].profile_id,
}

import { amountOf, integer, matching, object, one, string, type Vendor } from './vendor.ts'

const NAME = '^[A-Za-z][A-Za-z0-9_]{0,39}$'
const event = object({
  name: { ...matching(NAME), not: matching('^(in_app_purchase|session_start|error|first_open|(ga|google|firebase)_.*)$') },
  params: {
    type: 'object',
    maxProperties: 25,
    propertyNames: matching(NAME),
    additionalProperties: { type: ['string', 'number'], maxLength: 100 },
  },
})
const params = (body: { events: { params: Record<string, unknown> }[] }) => body.events[0]!.params

/** Google returns 204 for everything, a wrong secret included: only an outage is visible. */
export const firebase: Vendor = {
  slug: 'firebase',
  settings: { firebase_app_id: '1:2:ios:3', api_secret: 'right' },
  wrongKey: null,
  paths: /^POST \/mp\/collect$/,
  isAuthorized: () => true,
  query: object({ firebase_app_id: matching('^1:2:ios:3$'), api_secret: matching('^right$') }),
  body: object({ app_instance_id: matching('^[0-9a-fA-F]{32}$'), timestamp_micros: integer, events: one(event) }, { user_id: string(256) }),
  ok: { status: 204, body: '' },
  unauthorized: { status: 204, body: '' },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: '' },
  malformed: () => ({ status: 204, body: '' }),
  refused: { status: 413, body: 'Request Entity Too Large' },
  dedup: ({ body }) => params(body).delivery_id,
  revenue: ({ body }) => amountOf(params(body).value, params(body).currency),
  who: ({ body }) => body.user_id ?? body.app_instance_id,
}

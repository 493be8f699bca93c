import { amountOf, basicUser, matching, milliseconds, object, one, oneOf, string, type Vendor } from './vendor.ts'

const event = object({
  event: string(255),
  properties: {
    type: 'object',
    required: ['time', 'distinct_id', '$insert_id'],
    properties: {
      time: milliseconds,
      token: string(),
      distinct_id: { type: 'string', maxLength: 255, not: oneOf('anonymous', 'null', 'undefined', '0', 'none') },
      $insert_id: matching('^[a-zA-Z0-9-]{1,36}$'),
      $user_id: string(),
      $device_id: string(),
      ip: string(),
    },
    additionalProperties: { type: ['string', 'number', 'boolean'] },
  },
})

export const mixpanel: Vendor = {
  slug: 'mixpanel',
  settings: { project_token: 'right' },
  wrongKey: { project_token: 'wrong' },
  paths: /^POST \/import$/,
  isAuthorized: seen => basicUser(seen)[0] === 'right' && basicUser(seen)[1] === '',
  query: object({}, { strict: oneOf('0', '1') }),
  body: one(event),
  ok: { status: 200, body: { code: 200, num_records_imported: 1, status: 'OK' } },
  unauthorized: { status: 401, body: { code: 401, error: 'Invalid credentials', status: 'Unauthorized' } },
  limited: {
    status: 429,
    headers: { 'retry-after': '30' },
    body: { code: 429, error: 'Project exceeded rate limits', status: 'Too Many Requests' },
  },
  malformed: faults => ({
    status: 400,
    body: {
      code: 400,
      error: 'some data points in the request failed validation',
      failed_records: [{ index: 0, message: faults }],
      status: 'Bad Request',
    },
  }),
  refused: {
    status: 400,
    body: { code: 400, error: 'some data points in the request failed validation', num_records_imported: 0, status: 'Bad Request' },
  },
  dedup: ({ body }) => body[0].properties.$insert_id,
  revenue: ({ body }) => amountOf(body[0].properties.revenue, body[0].properties.currency),
  who: ({ body }) => body[0].properties.distinct_id,
}

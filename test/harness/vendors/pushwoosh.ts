import { amountOf, flat, object, oneOf, seconds, string, type Vendor } from './vendor.ts'

const statusAndMessage = (status_code: number, status_message: string) => ({
  status: 200,
  body: { status_code, status_message, response: null },
})

export const pushwoosh: Vendor = {
  slug: 'pushwoosh',
  settings: { application_code: 'XXXXX-XXXXX', api_token: 'right' },
  wrongKey: { api_token: 'wrong' },
  paths: /^POST \/json\/1\.3\/postEvent$/,
  isAuthorized: ({ headers }) => headers.authorization === 'Token right',
  body: object({
    request: {
      ...object(
        { application: string(), event: string(), attributes: flat },
        { hwid: string(), userId: string(), timestampUTC: seconds, timestampCurrent: seconds, device_type: oneOf(1, 3) },
      ),
      anyOf: [{ required: ['hwid'] }, { required: ['userId'] }],
    },
  }),
  ok: { status: 200, body: { status_code: 200, status_message: 'OK', response: { code: '61BC9-84DD0' } } },
  unauthorized: statusAndMessage(403, 'Forbidden'),
  limited: { ...statusAndMessage(429, 'Too many requests'), headers: { 'retry-after': '30' } },
  malformed: faults => statusAndMessage(210, faults),
  refused: statusAndMessage(210, 'Event not found'),
  dedup: ({ body }) => body.request.attributes.delivery_id,
  revenue: ({ body }) => amountOf(body.request.attributes.revenue, body.request.attributes.currency),
  who: ({ body }) => body.request.userId,
}

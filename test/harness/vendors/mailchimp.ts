import { amountOf, basicUser, isoTime, object, string, texts, type Vendor } from './vendor.ts'

const problem = (status: number, title: string, detail: string) => ({
  status,
  body: { type: 'https://mailchimp.com/developer', title, status, detail },
})

export const mailchimp: Vendor = {
  slug: 'mailchimp',
  settings: { audience_id: 'a1b2', api_key: 'right-us6' },
  wrongKey: { api_key: 'wrong-us6' },
  paths: /^POST \/3\.0\/lists\/a1b2\/members\/[0-9a-f]{32}\/events$/,
  isAuthorized: seen => basicUser(seen)[1] === 'right-us6',
  body: object({ name: string(30, 2) }, { properties: texts(1000), occurred_at: isoTime }),
  ok: { status: 204, body: '' },
  unauthorized: problem(401, 'API Key Invalid', 'Your API key may be invalid.'),
  limited: {
    ...problem(429, 'Too Many Requests', 'You have exceeded the limit of 10 simultaneous connections.'),
    headers: { 'retry-after': '30' },
  },
  malformed: faults => problem(400, 'Invalid Resource', faults),
  refused: problem(404, 'Resource Not Found', 'The requested resource could not be found.'),
  dedup: ({ body }) => body.properties.delivery_id,
  revenue: ({ body }) => amountOf(body.properties.revenue, body.properties.currency),
  who: ({ path }) => path.split('/')[5],
}

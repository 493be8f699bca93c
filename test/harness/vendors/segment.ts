import { amountOf, basicUser, flat, isoTime, object, string, type Vendor } from './vendor.ts'

/** Segment returns 200 for a wrong write key, too. */
export const segment: Vendor = {
  slug: 'segment',
  settings: { write_key: 'right' },
  wrongKey: null,
  paths: /^POST \/v1\/track$/,
  isAuthorized: seen => basicUser(seen)[0] === 'right',
  body: {
    ...object(
      { event: string(), messageId: string(100), timestamp: isoTime, properties: flat, context: { type: 'object' } },
      { userId: string(), anonymousId: string() },
    ),
    anyOf: [{ required: ['userId'] }, { required: ['anonymousId'] }],
  },
  ok: { status: 200, body: { success: true } },
  unauthorized: { status: 200, body: { success: true } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'Too Many Requests' },
  malformed: faults => ({ status: 400, body: { success: false, message: faults } }),
  refused: { status: 400, body: { success: false, message: 'malformed JSON' } },
  dedup: ({ body }) => body.messageId,
  revenue: ({ body }) => amountOf(body.properties.revenue, body.properties.currency),
  who: ({ body }) => body.userId ?? body.anonymousId,
}

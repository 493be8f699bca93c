import { amountOf, currency, matching, number, object, one, oneOf, seconds, string, type Vendor } from './vendor.ts'

const customEvent = {
  type: 'object',
  required: ['_eventName', '_logTime'],
  properties: { _eventName: matching('^[0-9a-zA-Z_][0-9a-zA-Z _-]{0,39}$'), _logTime: seconds, _valueToSum: number, fb_currency: currency },
  maxProperties: 25,
  propertyNames: matching('^[0-9a-zA-Z_][0-9a-zA-Z _-]{0,39}$'),
  additionalProperties: { type: ['string', 'number', 'boolean'] },
}
const error = (code: number, message: string) => ({ error: { message, type: 'OAuthException', code, fbtrace_id: 'trace' } })

export const facebook: Vendor = {
  slug: 'facebook',
  settings: { app_id: '1234567', access_token: 'right' },
  wrongKey: { access_token: 'wrong' },
  paths: /^POST \/1234567\/activities$/,
  isAuthorized: ({ body }) => body?.access_token === 'right',
  body: {
    ...object(
      {
        event: oneOf('CUSTOM_APP_EVENTS'),
        access_token: string(),
        advertiser_tracking_enabled: oneOf(0, 1),
        application_tracking_enabled: oneOf(0, 1),
        custom_events: one(customEvent),
      },
      {
        advertiser_id: string(),
        anon_id: string(),
        app_user_id: string(),
        extinfo: { type: 'array', minItems: 16, maxItems: 16, items: { type: 'string' } },
      },
    ),
    anyOf: [{ required: ['advertiser_id'] }, { required: ['anon_id'] }],
  },
  ok: { status: 200, body: { success: true } },
  unauthorized: { status: 400, body: error(190, 'Invalid OAuth access token.') },
  limited: { status: 400, headers: { 'retry-after': '30' }, body: error(4, 'Application request limit reached') },
  malformed: faults => ({ status: 400, body: error(100, faults) }),
  refused: { status: 400, body: error(100, 'Invalid parameter') },
  dedup: ({ body }) => body.custom_events[0].delivery_id,
  revenue: ({ body }) => amountOf(body.custom_events[0]._valueToSum, body.custom_events[0].fb_currency),
  who: ({ body }) => body.app_user_id,
}

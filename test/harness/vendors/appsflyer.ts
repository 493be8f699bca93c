import { amountOf, currency, formFields, matching, object, string, type Vendor } from './vendor.ts'

const value = (body: { eventValue: string }) => JSON.parse(body.eventValue)

export const appsflyer: Vendor = {
  slug: 'appsflyer',
  settings: { app_id: '123456789', dev_key: 'right' },
  wrongKey: { dev_key: 'wrong' },
  paths: /^POST \/inappevent\/id123456789$/,
  isAuthorized: ({ headers }) => headers.authentication === 'right',
  body: object(
    { appsflyer_id: matching('^\\d{13}-\\d{7,19}$'), eventName: string(100), eventValue: string(1000) },
    {
      ...formFields('customer_user_id', 'idfa', 'idfv', 'advertising_id', 'ip', 'app_version_name', 'os', 'af_events_api'),
      eventTime: matching('^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3}$'),
      eventCurrency: currency,
    },
  ),
  ok: { status: 200, body: 'ok' },
  unauthorized: { status: 401, body: 'unauthorized' },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'Too Many Requests' },
  malformed: faults => ({ status: 400, body: faults }),
  refused: { status: 400, body: 'appsflyer_id is either missing or invalid' },
  dedup: ({ body }) => value(body).delivery_id,
  revenue: ({ body }) => amountOf(value(body).af_revenue, body.eventCurrency),
  who: ({ body }) => body.customer_user_id,
}

import { amountOf, currency, flat, formFields, matching, object, oneOf, string, type Vendor } from './vendor.ts'

export const kochava: Vendor = {
  slug: 'kochava',
  settings: { app_guid: 'koright' },
  wrongKey: { app_guid: 'kowrong' },
  paths: /^POST \/track\/json$/,
  isAuthorized: ({ body }) => body?.kochava_app_id === 'koright',
  body: object({
    action: oneOf('event'),
    kochava_app_id: string(),
    kochava_device_id: { type: ['string', 'null'] },
    data: object(
      {
        usertime: matching('^\\d{10}$'),
        device_ver: string(255, 0),
        device_ua: string(1024, 0),
        origination_ip: string(45, 0),
        device_ids: object({}, formFields('idfa', 'idfv', 'adid', 'android_id')),
        event_name: string(),
        event_data: flat,
      },
      { app_version: string(), currency },
    ),
  }),
  ok: { status: 200, body: { success: '1' } },
  unauthorized: { status: 200, body: { success: '0', error: 'Invalid kochava_app_id' } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'Too Many Requests' },
  malformed: faults => ({ status: 200, body: { success: '0', error: faults } }),
  refused: { status: 200, body: { success: '0', error: 'Invalid event_name' } },
  dedup: ({ body }) => body.data.event_data.delivery_id,
  revenue: ({ body }) => amountOf(body.data.event_data.price, body.data.currency),
  who: ({ body }) => body.data.event_data.user_id,
}

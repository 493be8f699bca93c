import { amountOf, currency, formFields, number, object, oneOf, string, texts, type Vendor } from './vendor.ts'

const IDS = ['developer_identity', 'idfa', 'idfv', 'aaid', 'android_id']

export const branch: Vendor = {
  slug: 'branch',
  settings: { branch_key: 'key_live_right' },
  wrongKey: { branch_key: 'key_live_wrong' },
  paths: /^POST \/v2\/event\/(custom|standard)$/,
  isAuthorized: ({ body }) => body?.branch_key === 'key_live_right',
  body: object(
    {
      branch_key: string(),
      name: string(),
      user_data: {
        ...object(
          { environment: oneOf('FULL_APP') },
          { ...formFields(...IDS, 'os_version', 'country', 'language', 'ip', 'model', 'app_version'), os: oneOf('iOS', 'Android') },
        ),
        anyOf: IDS.map(name => ({ required: [name] })),
      },
    },
    { event_data: object({ revenue: number, currency }, { transaction_id: string() }), custom_data: texts(255) },
  ),
  ok: { status: 200, body: { branch_view_enabled: false } },
  unauthorized: { status: 400, body: { error: { code: 400, message: 'Invalid or missing Branch key' } } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { error: { code: 429, message: 'Rate limited' } } },
  malformed: faults => ({ status: 400, body: { error: { code: 400, message: faults } } }),
  refused: { status: 400, body: { error: { code: 400, message: 'Invalid event name' } } },
  dedup: ({ body }) => body.custom_data.delivery_id,
  revenue: ({ body }) => amountOf(body.event_data?.revenue, body.event_data?.currency),
  who: ({ body }) => body.user_data.developer_identity,
}

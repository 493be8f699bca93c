import { amountOf, object, one, oneOf, seconds, string, type Vendor } from './vendor.ts'

const values = { type: 'object', maxProperties: 256, additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: 512 } }

export const clevertap: Vendor = {
  slug: 'clevertap',
  settings: { account_id: 'W9R-right', passcode: 'right', region: 'in1' },
  wrongKey: { passcode: 'wrong' },
  paths: /^POST \/1\/upload$/,
  isAuthorized: ({ headers }) => headers['x-clevertap-account-id'] === 'W9R-right' && headers['x-clevertap-passcode'] === 'right',
  body: object({
    d: one(object({ identity: string(1024), type: oneOf('event'), ts: seconds, evtName: string(120), evtData: values })),
  }),
  ok: { status: 200, body: { status: 'success', processed: 1, unprocessed: [] } },
  unauthorized: { status: 401, body: { status: 'fail', error: 'Invalid Credentials', code: 401 } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { status: 'fail', error: 'Too many requests', code: 429 } },
  malformed: faults => ({ status: 400, body: { status: 'fail', error: faults, code: 400 } }),
  refused: {
    status: 200,
    body: { status: 'fail', processed: 0, unprocessed: [{ status: 'fail', code: 509, error: 'Event Name is incorrect' }] },
  },
  dedup: ({ body }) => body.d[0].evtData.delivery_id,
  revenue: ({ body }) => amountOf(body.d[0].evtData.Amount, body.d[0].evtData.Currency),
  who: ({ body }) => body.d[0].identity,
}

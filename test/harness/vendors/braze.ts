import { amountOf, currency, flat, integer, isoTime, matching, number, object, one, string, type Vendor } from './vendor.ts'

const without = (...names: string[]) => ({ ...flat, propertyNames: { not: { enum: names } } })
const about = { external_id: string(997), time: isoTime }

export const braze: Vendor = {
  slug: 'braze',
  settings: { rest_endpoint: 'rest.iad-01.braze.com', api_key: 'right', app_id: 'app-1' },
  wrongKey: { api_key: 'wrong' },
  paths: /^POST \/users\/track$/,
  isAuthorized: ({ headers }) => headers.authorization === 'Bearer right',
  body: object(
    { events: one(object({ ...about, name: matching('^[^$]'), properties: without('time', 'event_name') }, { app_id: string() })) },
    {
      purchases: one(
        object(
          {
            ...about,
            product_id: string(255),
            currency,
            price: number,
            quantity: { ...integer, minimum: 1, maximum: 100 },
            properties: without('time', 'product_id', 'quantity', 'event_name', 'price', 'currency'),
          },
          { app_id: string() },
        ),
      ),
    },
  ),
  ok: { status: 201, body: { message: 'success', events_processed: 1 } },
  unauthorized: { status: 401, body: { message: 'Invalid API Key' } },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: { message: 'Rate limit exceeded' } },
  malformed: faults => ({ status: 400, body: { message: faults } }),
  refused: { status: 201, body: { message: 'success', errors: [{ type: "'external_id' is required", input_array: 'events', index: 0 }] } },
  dedup: ({ body }) => body.events[0].properties.delivery_id,
  revenue: ({ body }) => amountOf(body.purchases?.[0].price, body.purchases?.[0].currency),
  who: ({ body }) => body.events[0].external_id,
}

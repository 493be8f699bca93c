import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

// The end of a period that a posted event begins.

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const post = (events: unknown) => api.call('POST', '/v4/events', { body: { events } })
const endOf = async ({ event_id }: Record<string, unknown>): Promise<string> =>
  (await api.pool.query<{ at: string }>('select transaction_expires_at as at from events where event_id = $1', [event_id])).rows[0]!.at
const begun = (fields: object): Record<string, unknown> => ({
  ...item(),
  ...{ event_name: 'subscription_started', identity_id: 'ends', platform: 'Android', happened_at: '2026-01-31T12:00:00Z' },
  ...fields,
})
const refusal = async (item: object) => {
  const { status, body } = await post([item])
  expect([status, body.error.code]).toEqual([400, 'invalid_data'])
  return body.error.details
}
const END = 'events[0].transaction.expires_at'

test('is that of the product that links the store product, by the calendar', async () => {
  const product = (fields: object) => api.call('POST', '/v4/products', { body: { type: 'subscription', ...fields } })
  await product({ id: 'month', duration: 'P1M', google_product_id: 'pro' })
  await product({ id: 'year', duration: 'P1Y', google_product_id: 'pro', google_base_plan_id: 'yearly' })
  const transaction = { transaction_id: 'ends-1', transaction_date: '2026-01-30T00:00:00Z' }
  const ended = [begun({ product_id: 'pro' }), begun({ product_id: 'pro:yearly' }), begun({ product_id: 'pro', transaction })]
  expect((await post(ended)).body).toMatchObject({ created: 3 })
  const ends = await Promise.all(ended.map(endOf))
  expect(ends.map(end => new Date(end).toISOString())).toEqual([
    '2026-02-28T12:00:00.000Z',
    '2027-01-31T12:00:00.000Z',
    '2026-02-28T00:00:00.000Z',
  ])
})

test('an event that is recorded is repeated without a word, whatever became of its product', async () => {
  await api.call('POST', '/v4/products', { body: { id: 'gone', type: 'subscription', duration: 'P1W', google_product_id: 'gone' } })
  const event = begun({ product_id: 'gone', identity_id: 'repeats' })
  expect((await post([event])).body).toMatchObject({ created: 1 })
  await drainMarks(api.pool, api.project.production, 1_000)
  const { rows } = await api.pool.query<{ states: string[] }>(
    `select s.states from subscriptions s join users u on u.environment = s.environment and u.id = s.user_id where u.identity_id = 'repeats'`,
  )
  expect(rows[0]!.states.at(-1)).toBe('ended')
  expect((await api.call('DELETE', '/v4/products/gone')).status).toBe(204)
  expect((await post([event])).body).toMatchObject({ created: 0, duplicates: 1 })
})

test('without one, and without a product that tells it, the event is refused; of an event without user nothing is asked', async () => {
  const none = [{ field: END, message: 'is required: no product with a duration links the product_id' }]
  expect(await refusal(begun({ product_id: 'nobody_links_it' }))).toEqual(none)
  expect(await refusal(begun({ event_name: 'trial_started', price: undefined, currency: undefined }))).toEqual(none)
  expect(await refusal(begun({ product_id: 'pro', platform: 'iOS' }))).toEqual(none)
  expect((await post([begun({ identity_id: undefined })])).body.created).toBe(1)
})

test('is after its beginning, and the beginning is not ahead; an event that begins no period may name one that is over', async () => {
  const at = (transaction: object) => begun({ transaction })
  expect(await refusal(at({ expires_at: '2026-01-31T12:00:00Z' }))).toEqual([{ field: END, message: 'must be after happened_at' }])
  const dates = { transaction_date: '2026-02-02T00:00:00Z', expires_at: '2026-02-01T00:00:00Z' }
  expect(await refusal(at(dates))).toEqual([{ field: END, message: 'must be after transaction_date' }])
  const over = { event_name: 'subscription_expired', price: undefined, currency: undefined }
  expect((await post([begun({ ...over, transaction: dates })])).body).toMatchObject({ created: 1 })
  const ahead = new Date(Date.now() + 6 * 60_000).toISOString()
  expect(await refusal(at({ transaction_date: ahead, expires_at: '2099-01-01T00:00:00Z' }))).toMatchObject([
    { field: 'events[0].transaction.transaction_date' },
  ])
})

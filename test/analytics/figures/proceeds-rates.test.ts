import { afterAll, beforeAll, expect, test } from 'vitest'
import { proceedsRates } from '../../../domain/events/money.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

const DAY = 86_400_000
const rates = { ...proceedsRates({}) }
let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true, proceedsRates: rates })
})
afterAll(() => api.stop())

async function proceeds(): Promise<number[]> {
  const path = `/v4/analytics/charts/proceeds?from=${Math.floor((Date.now() - 40 * DAY) / 1000)}&fresh=true`
  const answers = await Promise.all([api.call('GET', path), api.replica!.call('GET', path)])
  return answers.map(({ body }) => body.series[0].total)
}

test("an operator's shares and another duration of a product count at once, for the past too, without a new fold", async () => {
  await product(api, { id: 'monthly', google_product_id: 'm' })
  const user = await userOf(api)
  const bought = await purchaseOf(api, user, {
    price: '10.00',
    purchased_at: new Date(Date.now() - 20 * DAY).toISOString(),
    expires_at: new Date(Date.now() + 10 * DAY).toISOString(),
    play_store_data: { purchase_token: 't', order_id: 'o', product_id: 'm' },
  })
  expect(bought.status).toBe(201)
  expect(await proceeds()).toEqual([8.5, 8.5])
  const facts = async () => (await api.pool.query('select seq, xmin from transaction_facts order by id')).rows
  const before = await facts()
  Object.assign(rates, proceedsRates({ Android: '0.5' }))
  expect(await proceeds()).toEqual([5, 5])
  // What was bought stays what it was.
  expect((await api.call('PATCH', '/v4/products/monthly', { body: { duration: 'P1Y' } })).status).toBe(200)
  expect(await proceeds()).toEqual([5, 5])
  expect(await facts()).toEqual(before)
})

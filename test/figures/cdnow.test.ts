import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/folding/fold-batch.ts'
import { startApi, type TestApi } from '../harness/api.ts'

type Order = { customer_id: string; date: string; amount: string }

/** The first orders of a music store, 1997 and 1998. */
const orders: Order[] = parse(readFileSync(new URL('../../examples/cdnow.csv', import.meta.url)), { columns: true })
const FROM = Date.UTC(1997, 0) / 1000
const TO = Date.UTC(1998, 6) / 1000

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  const events = orders.map(({ customer_id, date, amount }, i) => ({
    ...{ event_id: `order-${i}`, event_name: 'in_app_purchase', identity_id: customer_id },
    ...{ happened_at: `${date}T12:00:00Z`, price: amount, currency: 'USD' },
  }))
  const { body } = await api.call('POST', '/v4/events', { body: { events } })
  expect(body.created).toBe(orders.length)
  // More users than a question folds by itself, and there is no worker.
  await drainMarks(api.pool, api.project.production, orders.length)
})
afterAll(() => api.stop())

const chart = async (code: string) =>
  (await api.call('GET', `/v4/analytics/charts/${code}?from=${FROM}&to=${TO}&unit=month`)).body.series[0]
const monthOf = (start: number) => new Date(start * 1000).toISOString().slice(0, 7)
const cents = (amount: string | number) => Math.round(Number(amount) * 100)

test('sales by month are the sums of the file', async () => {
  const months = Map.groupBy(orders, ({ date }) => date.slice(0, 7))
  const sums = (of: Order[] = []) => of.reduce((sum, { amount }) => sum + cents(amount), 0)
  const { total, data } = await chart('sales')
  expect(data).toHaveLength(18)
  for (const { start_time, value } of data) expect(cents(value), monthOf(start_time)).toBe(sums(months.get(monthOf(start_time))))
  expect(cents(total)).toBe(sums(orders))
})

test('the denominator of ARPPU is the buyers of the file', async () => {
  const { totalWeight } = await chart('arppu')
  expect(totalWeight).toBe(new Set(orders.map(({ customer_id }) => customer_id)).size)
})

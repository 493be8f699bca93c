import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { exactSum, productOf } from '../../domain/kernel/decimal.ts'
import { recount } from '../../domain/purchases/subscriptions/recount.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { userOf } from '../harness/purchases.ts'

const USERS = 40
const NAMES = ['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed', 'in_app_purchase']

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await api.pool.query(
    `insert into currency_rates select 'GBP', date '2026-01-01' + n, 1.234567 + n * 0.000001 from generate_series(0, 5) n`,
  )
  await api.pool.query(`insert into currency_rates values ('SEK', '2026-01-01', 1)`)
})
afterAll(() => api.stop())

const sale = fc.record({
  name: fc.constantFrom(...NAMES),
  // Few times, so that several sales have the same one; with microseconds.
  at: fc.constantFrom('2026-01-01T23:59:59.999999Z', '2026-01-02T00:00:00.000001Z', '2026-01-02T00:00:00Z', '2026-01-04T12:00:00.123457Z'),
  happened: fc.boolean(),
  price: fc.constantFrom('0', '0.000001', '9.99', '12345678.9', '5'),
  currency: fc.constantFrom('USD', 'EUR', 'GBP', 'SEK'),
  stated: fc.option(fc.constantFrom('1.5', '20', '0.123456')),
  product: fc.option(fc.constantFrom('a', 'b', 'c')),
})

const STORED = `id, status, first_transaction_at::text, last_payment_at::text, payments_count, converted_payments, purchase_currency, purchase_product_id,
  trim_scale(gross_payments_usd)::text as gross, trim_scale(net_payments_usd)::text as net, xmin::text as version`

test('the sums of a fold are those that the database counts from all facts, to the last digit', async () => {
  const environment = api.project.production
  const users = await Promise.all(Array.from({ length: USERS }, () => userOf(api)))
  const sold = fc.sample(fc.array(sale, { minLength: 1, maxLength: 12 }), { numRuns: USERS, seed: 55 })
  const events = sold.flatMap((sales, n) =>
    sales.map(({ name, at, happened, price, currency, stated, product }, i) => ({
      event_id: `sold-${n}-${i}`,
      event_name: name,
      customer_uid: users[n],
      happened_at: happened ? at : '2026-01-10T00:00:00Z',
      platform: 'iOS',
      ...(product !== null && { product_id: product }),
      ...(name !== 'trial_started' && { price, currency, ...(stated !== null && { price_usd: stated }) }),
      transaction: { transaction_id: `sold-${n}-${i}`, expires_at: '2026-02-01T00:00:00Z', ...(!happened && { transaction_date: at }) },
    })),
  )
  expect((await api.call('POST', '/v4/events', { body: { events } })).body.created).toBe(events.length)
  await drainMarks(api.pool, environment, 10_000)
  const stored = async () =>
    (await api.pool.query(`select ${STORED} from users where environment = $1 and id = any ($2) order by id`, [environment, users])).rows
  const folded = await stored()
  expect(new Set(folded.map(row => row.purchase_currency)).size).toBeGreaterThan(3)
  expect(folded.some(row => row.payments_count > row.converted_payments)).toBe(true)
  await transaction(api.pool, tx => recount(tx, environment, users, new Map(), []))
  expect(await stored()).toEqual(folded)
})

test('decimal texts are added and multiplied exactly', () => {
  const sumOf = (texts: string[]) => {
    const sum = exactSum()
    for (const text of texts) sum.add(text)
    return sum.total()
  }
  expect(sumOf([])).toBe('0')
  expect(sumOf(['0.1', '0.2', '1'])).toBe('1.3')
  expect(sumOf(['12345678901234567890.000001', '-0.000001'])).toBe('12345678901234567890')
  expect(productOf('9.99', '1.234567')).toBe('12.33332433')
  expect(productOf('5', '2')).toBe('10')
})

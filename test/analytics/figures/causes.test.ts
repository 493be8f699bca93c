import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { storeRates } from './post-plan.ts'

const DAY = 86_400
const NOW = Math.floor(Date.now() / 1000)
const MIDNIGHT = NOW - (NOW % DAY)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
/** Yesterday and today in whole days of UTC; what changes later than tomorrow is reported. */
const WINDOW = `from=${MIDNIGHT - DAY}&to=${MIDNIGHT + DAY}`

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Change = { day: string; cause: string; facts: number | null; contribution: string | null }

test('late facts, erasures and changed rates are named with their amounts, which add up to the change of the number', async () => {
  await storeRates(api, [{ currency: 'EUR', date: '2026-01-01', usdPerUnit: '1.1' }])
  await api.pool.query('update currency_rates set loaded_at = null')
  const { sandbox: key } = await api.newProject()
  const sell = (user: string, price: string, currency: string) =>
    api.call('POST', '/v4/events', {
      key,
      body: {
        events: [
          {
            ...{ event_id: user, event_name: 'in_app_purchase', identity_id: user, happened_at: iso(NOW - 3_600), price, currency },
            ...{ platform: 'iOS', product_id: 'coins', transaction: { transaction_id: user } },
          },
        ],
      },
    })
  for (const [user, price, currency] of [
    ['anna', '10', 'USD'],
    ['ben', '20', 'EUR'],
    ['clem', '10', 'EUR'],
  ] as const)
    expect((await sell(user, price, currency)).body.created).toBe(1)
  const explain = async (code = 'sales', more = '') =>
    (await api.call('GET', `/v4/analytics/charts/${code}/explain?${WINDOW}${more}`, { key })).body
  const series = '&series=Sales%20after%20refunds'
  const causes = ({ changed_since }: { changed_since: Change[] }) =>
    changed_since.map(({ cause, facts, contribution }) => [cause, facts, contribution]).sort()

  expect((await api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P10D' } })).status).toBeLessThan(300)
  const before = await explain('sales', series)
  expect([before.value, causes(before)]).toEqual([43, []])
  expect(before.changes_known_since).toBeLessThanOrEqual(NOW + 60)

  await api.pool.query(`update currency_rates set usd_per_unit = 1.2 where currency = 'EUR'`)
  const repriced = await explain('sales', series)
  expect([repriced.value, causes(repriced)]).toEqual([46, [['exchange_rates', null, '3']]])
  expect((await explain('sales', `${series}&currency=EUR`)).changed_since).toMatchObject([{ cause: 'exchange_rates' }])

  const { data } = (await api.call('GET', `/v4/analytics/charts/sales/facts?${WINDOW}`, { key })).body
  const clem = data.find(({ contribution }: { contribution: string }) => contribution === '12').customer_uid
  expect((await api.call('DELETE', `/v4/customers/${clem}`, { key })).status).toBeLessThan(300)
  expect((await sell('dora', '5', 'USD')).body.created).toBe(1)
  const after = await explain('sales', series)
  // Erased at the rates of before, so that nothing is counted twice: 10 USD and 24 of 20 EUR are left, and 5 came late.
  expect([after.value, causes(after)]).toEqual([
    39,
    [
      ['erasure', 1, '-11'],
      ['exchange_rates', null, '2'],
      ['late_facts', 1, '5'],
    ],
  ])
  const changes = after.changed_since.map(({ contribution }: Change) => Number(contribution))
  expect(changes.reduce((sum: number, change: number) => sum + change, 0)).toBe(after.value - before.value)
  expect(causes(await explain('sales', `${series}&filter[product_id][]=coins`))).toContainEqual(['erasure', 1, '-11'])

  // What is not kept is named without an amount.
  expect(causes(await explain('mrr'))).toContainEqual(['erasure', null, null])
  expect(causes(await explain('sales', `${series}&filter[app_version][]=1`))).toContainEqual(['erasure', null, null])
  const { rows } = await api.pool.query('select e::text as text from erased_facts e')
  expect(rows.length).toBe(2)
  expect(JSON.stringify(rows)).not.toContain('clem')
})

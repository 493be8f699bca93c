import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dropTombstones } from '../../../domain/analytics/facts/retention.ts'
import { removeUnusedVocabulary } from '../../../domain/analytics/facts/unused-vocabulary.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { storeRates } from './post-plan.ts'

const DAY = 86_400
const NOW = Math.floor(Date.now() / 1000)
const MIDNIGHT = NOW - (NOW % DAY)
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const date = (daysAgo: number) => iso(MIDNIGHT - daysAgo * DAY).slice(0, 10)
/** What changes later than tomorrow is reported. */
const WINDOW = `from=${MIDNIGHT - 100 * DAY}&to=${MIDNIGHT + DAY}`

let api: TestApi
let key: string
let environment: number
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const loaded = (currency: string, daysAgo: number, usdPerUnit: string) => storeRates(api, [{ currency, date: date(daysAgo), usdPerUnit }])
const corrected = (currency: string, daysAgo: number, rate: number) =>
  api.pool.query('update currency_rates set usd_per_unit = $3 where currency = $1 and date = $2', [currency, date(daysAgo), rate])

async function begin(): Promise<void> {
  const project = await api.newProject()
  key = project.sandbox
  environment = Number((await api.pool.query('select max(id) as id from environments where kind = $1', ['sandbox'])).rows[0]!.id)
}

beforeEach(async () => {
  await api.pool.query('truncate currency_rates, replaced_rates')
  await loaded('EUR', 90, '1.1')
  await loaded('EUR', 50, '1.2')
  await begin()
})

async function sell(user: string, daysAgo: number, price: string, currency: string, more: object = {}): Promise<void> {
  const event = {
    ...{ event_id: user, event_name: 'in_app_purchase', identity_id: user, happened_at: iso(NOW - daysAgo * DAY - 60), price, currency },
    ...{ platform: 'iOS', product_id: 'coins', transaction: { transaction_id: user }, ...more },
  }
  expect((await api.call('POST', '/v4/events', { key, body: { events: [event] } })).body.created).toBe(1)
}
/** The number is that of the window from then on. */
const wait = async () => expect((await api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P10D' } })).status).toBeLessThan(300)
async function erase(user: string): Promise<void> {
  const { rows } = await api.pool.query('select id from users where environment = $1 and identity_id = $2', [environment, user])
  expect((await api.call('DELETE', `/v4/customers/${rows[0]!.id}`, { key })).status).toBeLessThan(300)
}

type Change = { cause: string; facts: number | null; contribution: string | null }
async function explain(code = 'sales', window = WINDOW): Promise<{ value: number; causes: unknown[]; since: number }> {
  const series = code === 'sales' ? '&series=Sales%20after%20refunds' : ''
  const { body } = await api.call('GET', `/v4/analytics/charts/${code}/explain?${window}${series}`, { key })
  const causes = body.changed_since.map(({ cause, facts, contribution }: Change) => [cause, facts, contribution])
  return { value: body.value, causes, since: body.changes_known_since }
}

test('rates of new dates change nothing of the past; one that is loaded for a date within it does', async () => {
  await sell('anna', 20, '10', 'EUR')
  await sell('ben', 70, '10', 'EUR')
  await wait()
  await loaded('EUR', -2, '1.5')
  expect((await explain()).causes).toEqual([])
  expect((await explain('mrr-movement')).causes).toEqual([])
  await loaded('EUR', 30, '1.3')
  expect(await explain()).toMatchObject({ value: 24, causes: [['exchange_rates', null, '1']] })
  expect((await explain('mrr-movement')).causes).toEqual([['exchange_rates', null, null]])
  // Before the first date its rate counts.
  await sell('clem', 95, '10', 'EUR')
  await loaded('EUR', 92, '1')
  expect((await explain()).causes.sort()).toEqual([
    ['exchange_rates', null, '1'],
    ['late_facts', 1, '10'],
  ])
})

test('erased facts have the rates of their own days, and their currency, although no other fact has them', async () => {
  await sell('early', 80, '20', 'EUR')
  await sell('late', 20, '10', 'USD')
  await wait()
  expect((await explain()).value).toBe(32)
  await erase('early')
  await api.pool.query('delete from fact_days')
  await dropTombstones(api.pool, 1_000)
  await removeUnusedVocabulary(api.pool, 1_000, null)
  expect(await explain()).toMatchObject({ value: 10, causes: [['erasure', 1, '-22']] })
})

test('erased facts have neither a time of day nor an order, and equal ones of several users are one row', async () => {
  await sell('anna', 20, '10', 'USD')
  await sell('ben', 20, '10', 'USD')
  await sell('clem', 20, '5', 'USD')
  await wait()
  for (const user of ['anna', 'ben', 'clem']) await erase(user)
  const { rows } = await api.pool.query(
    `select kind, amount, facts, erased_at = date_trunc('day', environment_now($1), 'UTC') as is_day from erased_facts
     where environment = $1 order by kind, amount`,
    [environment],
  )
  expect(rows).toEqual([
    { kind: 5, amount: 5_000_000, facts: 1, is_day: true },
    { kind: 5, amount: 10_000_000, facts: 2, is_day: true },
    { kind: null, amount: null, facts: 3, is_day: true },
  ])
  expect((await explain()).causes).toEqual([['erasure', 3, '-25']])
})

test('changes of rates are known for 90 days, and not from before the environment', async () => {
  await api.pool.query(`update causes_known set since = now() - interval '200 days'`)
  const old = `from=${MIDNIGHT - 130 * DAY}&to=${MIDNIGHT - 120 * DAY}`
  await sell('anna', 125, '10', 'EUR')
  await corrected('EUR', 90, 1.15)
  expect((await explain('mrr-movement', old)).causes).toEqual([['exchange_rates', null, null]])
  await api.pool.query(`update environments set created_at = now() - interval '200 days' where id = $1`, [environment])
  await api.pool.query(`update replaced_rates set replaced_at = now() - interval '89 days'`)
  await api.pool.query(`update currency_rates set loaded_at = null`)
  expect((await explain('mrr-movement', old)).causes).toEqual([['exchange_rates', null, null]])
  await api.pool.query(`update replaced_rates set replaced_at = now() - interval '91 days'`)
  const { causes, since } = await explain('mrr-movement', old)
  expect(causes).toEqual([])
  expect(since).toBeGreaterThan(NOW - 91 * DAY)

  await api.pool.query(`update replaced_rates set replaced_at = now() - interval '1 second'`)
  await begin()
  await sell('ben', 80, '10', 'EUR')
  await wait()
  expect((await explain()).causes).toEqual([])
})

test('where a currency had no rate, its stated dollars are no more known', async () => {
  await sell('anna', 20, '10', 'CHF', { price_usd: '12' })
  await wait()
  expect(await explain()).toMatchObject({ value: 12, causes: [] })
  await loaded('CHF', 30, '1.1')
  expect(await explain()).toMatchObject({ value: 11, causes: [['exchange_rates', null, null]] })
})

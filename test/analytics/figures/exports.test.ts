// A second witness: the figures of the same users, computed by DuckDB from the raw exports. It shares nothing with facts, their fold or the first witness.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance, type Json } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { exportAll } from '../../harness/exports.ts'
import { product, userOf } from '../../harness/purchases.ts'
import { DAY, HOUR } from '../../oracle/history.ts'
import { callsOf } from './answer-difference.ts'
import { storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'

const POSTED = 120
const RECORDED = 24
const FROM = Date.UTC(2025, 0) / 1000
const NOW = Math.floor(Date.now() / 1000)
const TO = NOW + DAY
const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '')

/** The same number below `of` for the same user and question, whenever the test runs. */
const drawn = (user: number, question: number, of: number): number => {
  const mixed = Math.imul(user * 31 + question + 1, 2_654_435_761) >>> 0
  return (mixed >>> 7) % of
}

type Charge = { at: number; kind: 'trial' | 'period' | 'sale'; price: string; back?: { at: number; price: string } }
type ChargeHistory = { currency: string; subscribes: boolean; charges: Charge[] }

const PRICES = ['9.99', '4.5', '119', '0.01', '1234.567891']
const PERIOD = 30 * DAY

/** Periods that follow each other without a gap, or single sales; the last of some was given back, in part or in full. */
function chargeHistoryOf(user: number): ChargeHistory {
  const currency = ['USD', 'EUR', 'TRY'][drawn(user, 1, 3)]!
  const subscribes = drawn(user, 2, 2) === 0
  const price = PRICES[drawn(user, 3, PRICES.length)]!
  const begin = FROM + 40 * DAY + drawn(user, 4, 300) * DAY + drawn(user, 5, DAY)
  const times = 1 + drawn(user, 6, 5)
  const hasTrial = subscribes && drawn(user, 7, 2) === 0
  const charges: Charge[] = Array.from({ length: times }, (_, n) => ({
    at: begin + n * PERIOD + (hasTrial ? 7 * DAY : 0),
    kind: subscribes ? 'period' : 'sale',
    price,
  }))
  const last = charges.at(-1)!
  const isPart = price === '119' && drawn(user, 8, 2) === 0
  if (drawn(user, 9, 3) === 0) last.back = { at: last.at + 3 * DAY + HOUR, price: isPart ? '59.5' : price }
  return { currency, subscribes, charges: hasTrial ? [{ at: begin, kind: 'trial', price: '0' }, ...charges] : charges }
}

const endOf = ({ at, kind }: Charge) => at + (kind === 'trial' ? 7 * DAY : PERIOD)

function eventsOf(n: number) {
  const { currency, subscribes, charges } = chargeHistoryOf(n)
  const hasTrial = charges[0]!.kind === 'trial'
  return charges.flatMap((charge, i) => {
    const { at, kind, price, back } = charge
    const first = i === (hasTrial ? 1 : 0)
    const name =
      kind === 'sale'
        ? 'in_app_purchase'
        : kind === 'trial'
          ? 'trial_started'
          : first
            ? hasTrial
              ? 'trial_converted'
              : 'subscription_started'
            : 'subscription_renewed'
    const transaction = {
      transaction_id: `p${n}-${i}`,
      transaction_date: iso(at),
      ...(subscribes && { original_transaction_id: `p${n}`, expires_at: iso(endOf(charge)) }),
    }
    const common = { identity_id: `person-${n}`, platform: 'iOS', product_id: subscribes ? 'monthly' : 'coins', transaction }
    const money = (amount: string) => (kind === 'trial' ? {} : { price: amount, currency })
    const refund = subscribes ? 'subscription_refunded' : 'in_app_refunded'
    return [
      { ...common, event_id: `p${n}-${i}`, event_name: name, happened_at: iso(at), ...money(price) },
      ...(back ? [{ ...common, event_id: `p${n}-${i}-back`, event_name: refund, happened_at: iso(back.at), ...money(back.price) }] : []),
    ]
  })
}

/** Of a subscription that ended before it was recorded there are no events: the recorded ones are in their first period. */
function recordedHistoryOf(n: number): ChargeHistory {
  const history = chargeHistoryOf(n)
  if (!history.subscribes) return history
  const at = NOW - 10 * DAY - drawn(n, 10, DAY)
  const back = n % 2 === 0 ? { at: at + DAY, price: '3' } : undefined
  return { ...history, charges: [{ at, kind: 'period', price: '5.99', ...(back && { back }) }] }
}

async function record(api: TestApi, n: number): Promise<void> {
  const { currency, subscribes, charges } = recordedHistoryOf(n)
  const user = await userOf(api)
  for (const [i, charge] of charges.entries()) {
    const data = {
      purchase_token: subscribes ? `r${n}` : `r${n}-${i}`,
      order_id: `r${n}-${i}`,
      product_id: subscribes ? 'monthly' : 'coins',
    }
    const { status, body, text } = await api.call('POST', `/v4/users/${user}/purchases`, {
      body: {
        currency,
        price: charge.price,
        purchased_at: iso(charge.at),
        ...(subscribes && { expires_at: iso(endOf(charge)) }),
        play_store_data: data,
      },
    })
    expect(status, text).toBe(201)
    if (charge.back)
      expect(
        (await api.call('PATCH', body.url, { body: { refunded_at: iso(charge.back.at), refunded_amount: charge.back.price } })).status,
      ).toBe(200)
  }
}

let api: TestApi
let folder: string
let runSql: (sql: string) => Promise<Record<string, Json>[]>
let close: () => void

beforeAll(async () => {
  api = await startApi({ worker: true, replica: true })
  const rates = ratesBefore(NOW)
  await storeRates(api, rates)
  await product(api, { id: 'monthly', google_product_id: 'monthly' })
  await product(api, { id: 'coins', type: 'consumable', duration: null, google_product_id: 'coins' })
  for (let n = 0; n < RECORDED; n++) await record(api, 1_000 + n)
  const events = Array.from({ length: POSTED }, (_, n) => eventsOf(n)).flat()
  const posted = await api.call('POST', '/v4/events', { body: { events } })
  expect(posted.body).toMatchObject({ created: events.length })
  await drainMarks(api.pool, api.project.production, 10_000)

  folder = await mkdtemp(join(tmpdir(), 'perennial-witness-'))
  const window = { from_timestamp: iso(NOW - DAY), to_timestamp: iso(NOW + DAY), format: 'parquet' }
  for (const type of ['purchases', 'customers']) await writeFile(join(folder, type), (await exportAll(api, { ...window, type })).bytes)
  const database = await DuckDBInstance.create(':memory:')
  const connection = await database.connect()
  runSql = async sql => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  close = () => {
    connection.closeSync()
    database.closeSync()
  }
  await runSql(`set TimeZone = 'UTC'`)
  await runSql('create table rates (currency text, day date, usd decimal(38, 15))')
  for (const { currency, date, usdPerUnit } of rates) await runSql(`insert into rates values ('${currency}', '${date}', ${usdPerUnit})`)
  // Before the first rate of a currency its first rate holds.
  await runSql(`insert into rates select currency, date '0001-01-01', arg_min(usd, day) from rates group by currency`)
  await runSql(`insert into rates values ('USD', date '0001-01-01', 1)`)
  await runSql(`create table charges as
    select p.q_user_id as person, p.event_name as name, p.refund as is_refund, p.event_date as at, epoch(p.event_date)::bigint as second,
      strftime(p.event_date, '%Y-%m') as month, (abs(p.price)::decimal(38, 6) * r.usd::decimal(38, 12))::decimal(38, 18) as usd
    from read_parquet('${join(folder, 'purchases')}') p
    asof join rates r on r.currency = p.currency and r.day <= coalesce(p.transaction_date, p.event_date)::date
    where p.price <> 0`)
})
afterAll(async () => {
  close?.()
  await api.stop()
  if (folder) await rm(folder, { recursive: true })
})

const WINDOW = `from=${FROM}&to=${TO}&unit=month`
const monthOf = (start: number) => iso(start).slice(0, 7)

type Line = { data: { start_time: number; value: number }[]; total: number; totalWeight?: number }
/** The line of a chart by months without those of 0, by both drivers. */
async function expectLine(code: string, label: string, sql: string): Promise<void> {
  const rows = await runSql(sql)
  const expected = Object.fromEntries(rows.map(({ month, value }) => [month as string, Number(value)]))
  expect(rows.length, 'months of the witness').toBeGreaterThan(3)
  for (const { driver, call } of callsOf(api)) {
    const { body } = await call('GET', `/v4/analytics/charts/${code}?${WINDOW}`)
    const line: Line = [...body.series, body.summarySeries].find(series => series?.label === label)
    const shown = line.data.filter(({ value }) => value !== 0).map(({ start_time, value }) => [monthOf(start_time), value])
    expect(Object.fromEntries(shown), driver).toEqual(expected)
  }
}

const byMonth = (value: string, where: string) =>
  `select month, ${value} as value from charges where ${where} group by month having value <> 0`

describe('by month', () => {
  test('gross sales', () => expectLine('sales', 'Total', byMonth('round(sum(usd), 2)', 'not is_refund')))
  test('refunds', () => expectLine('refunds', 'Refunds', byMonth('round(sum(usd), 2)', 'is_refund')))
  test('sales after refunds', () =>
    expectLine('sales', 'Sales after refunds', byMonth('round(sum(case when is_refund then -usd else usd end), 2)', 'true')))
  test('starts', () => expectLine('new-subscriptions', 'Started', byMonth('count(*)', `name = 'Subscription Started'`)))
  test('conversions', () => expectLine('new-subscriptions', 'Converted', byMonth('count(*)', `name = 'Trial Converted'`)))
  test('renewals', () => expectLine('subscriptions-overview', 'Renewed', byMonth('count(*)', `name = 'Subscription Renewed'`)))
  test('sales after refunds for each payer', () =>
    expectLine(
      'arppu',
      'ARPPU',
      byMonth(
        'round(sum(case when is_refund then -usd else usd end) / count(distinct case when not is_refund then person end), 2)',
        'true',
      ),
    ))
})

test('payers of the whole time, and users, who began when their history began', async () => {
  const [{ payers } = {}] = await runSql('select count(distinct person) as payers from charges where not is_refund')
  const [{ users } = {}] = await runSql(`select count(*) as users from read_parquet('${join(folder, 'customers')}')`)
  for (const { driver, call } of callsOf(api)) {
    const { body } = await call('GET', `/v4/analytics/charts/arppu?${WINDOW}`)
    expect(body.series[0].totalWeight, driver).toBe(Number(payers))
    const created = await call('GET', `/v4/analytics/charts/users-overview?${WINDOW}`)
    expect(created.body.series[0].total, driver).toBe(Number(users))
  }
})

test('cohorts by the month of the first payment', async () => {
  const marks = [0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 270, 365, 540, 730]
  const period = `case ${marks.map(mark => `when day <= ${mark} then 'D${mark}'`).join(' ')} end`
  const rows = await runSql(`
    with paid as (select *, min(second) over (partition by person) as first from charges where not is_refund),
      aged as (select *, (second - first) // ${DAY} as day, strftime(to_timestamp(first), '%Y-%m') as cohort from paid)
    select cohort, ${period} as period, count(distinct person) as payers, round(sum(usd), 2) as revenue from aged group by all order by all`)
  expect(rows.length).toBeGreaterThan(20)
  const expected = rows.map(({ cohort, period: label, payers, revenue }) => `${cohort} ${label} ${payers} ${Number(revenue)}`)
  const query = `cohort_from=${FROM}&cohort_to=${TO}&mode=by_days&grouping=month&cohort_definition=new_paying`
  for (const { driver, call } of callsOf(api)) {
    const { body } = await call('GET', `/v4/analytics/cohorts?${query}`)
    type Row = { label: string; periods: { label: string; payers: number; revenue: number }[] }
    const shown = (body.cohorts as Row[]).flatMap(({ label, periods }) =>
      periods.filter(({ payers }) => payers > 0).map(one => `${label} ${one.label} ${one.payers} ${one.revenue}`),
    )
    expect(shown.sort(), driver).toEqual(expected.sort())
  }
})

// The CDNOW music store, whole: 18 months of orders, published for research by Bruce Hardie and Peter Fader. The figures on both drivers are those
// that the file gives without the service.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { analyzeGrown } from '../../../store/analyze.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { exact, over, shown } from '../../oracle/exact.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'

type Order = { customer: string; date: string; day: number; amount: string; cents: number }

const DAY_MS = 86_400_000
const file = gunzipSync(readFileSync(new URL('cdnow.csv.gz', import.meta.url)))
const orders: Order[] = parse<{ customer_id: string; date: string; amount: string }>(file, { columns: true }).map(
  ({ customer_id, date, amount }) => ({
    ...{ customer: customer_id, date, day: Date.parse(date) / DAY_MS, amount },
    cents: Number(amount.replace('.', '')),
  }),
)
const FROM = Date.UTC(1997, 0) / 1000
const TO = Date.UTC(1998, 6) / 1000

let api: TestApi
beforeAll(async () => {
  api = await startApi({ replica: true })
  const events = orders.map(({ customer, date, amount }, i) => ({
    ...{ event_id: `order-${i}`, event_name: 'in_app_purchase', identity_id: customer },
    ...{ happened_at: `${date}T12:00:00Z`, price: amount, currency: 'USD' },
  }))
  for (let i = 0; i < events.length; i += 1_000) {
    const batch = events.slice(i, i + 1_000)
    const { body } = await api.call('POST', '/v4/events', { body: { events: batch } })
    expect(body.created).toBe(batch.length)
  }
  // More users than a question folds by itself. There is no worker, which would do both.
  while (!(await drainMarks(api.pool, api.project.production, 2_000))) await analyzeGrown(api.pool)
})
afterAll(() => api.stop())

/** Free orders count nowhere. */
const paid = orders.filter(({ cents }) => cents > 0)
const customersOf = (some: Order[]) => new Set(some.map(({ customer }) => customer)).size
const centsOf = (some: Order[]) => some.reduce((sum, { cents }) => sum + cents, 0)
const dollars = (cents: number, among = 1) => (among === 0 ? 0 : shown(over(exact(cents), exact(100 * among)), 2))

test('the file has the orders and customers that the page about figures names', () => {
  expect([orders.length, paid.length, customersOf(orders)]).toEqual([69_659, 69_579, 23_570])
})

const SALES = encodeURIComponent('Sales after refunds')
const TRIANGLE = `cohorts?cohort_definition=new_paying&grouping=month&mode=by_days&cohort_from=${FROM}&cohort_to=${TO}`
const MARKS = [0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 270, 365, 540, 730]

type Row = { label: string; users: number; periods: { arpu: number }[] }

/** The paid orders of each customer, the first one first. */
const byCustomer = Map.groupBy(
  paid.toSorted((a, b) => a.day - b.day),
  ({ customer }) => customer,
)

/** A cohort of customers by days since the first payment. */
function rowOf(customers: Order[][]) {
  const users = customers.length
  const periods = MARKS.map((mark, i) => {
    const upTo = customers.flatMap(all => all.filter(({ day }) => day - all[0]!.day <= mark))
    const before = MARKS[i - 1] ?? -1
    const inside = customers.flatMap(all => all.filter(({ day }) => day - all[0]!.day <= mark && day - all[0]!.day > before))
    return {
      ...{ index: i + 1, label: `D${mark}`, is_complete: true, reachable: users, open: 0 },
      ...{ payers: customersOf(inside), subscriptions: 0 },
      ...{
        revenue: dollars(centsOf(inside)),
        arpu: dollars(centsOf(upTo), users),
        arppu: dollars(centsOf(upTo), customersOf(upTo)),
        arpas: 0,
      },
    }
  })
  return { users, periods }
}

type Line = { total: number; totalWeight?: number; data: { start_time: number; value: number }[] }
type Shown = { start: string; value: number }

describe.each(['postgres', 'duckdb'] as const)('on %s', driver => {
  const answer = async (path: string) => {
    const { call } = callsOf(api).find(one => one.driver === driver)!
    const { status, body, text } = await call('GET', `/v4/analytics/${path}`)
    expect(status, text).toBe(200)
    return body
  }
  const line = async (code: string, unit: string): Promise<Line> =>
    (await answer(`charts/${code}?from=${FROM}&to=${TO}&unit=${unit}`)).series[0]
  const shownBy = ({ data }: Line): Shown[] =>
    data.map(({ start_time, value }) => ({ start: new Date(start_time * 1000).toISOString().slice(0, 10), value }))
  const months = Map.groupBy(paid, ({ date }) => `${date.slice(0, 7)}-01`)
  const byMonth = (value: (month: Order[]) => number): Shown[] =>
    [...months].map(([start, month]) => ({ start, value: value(month) })).sort((a, b) => (a.start < b.start ? -1 : 1))

  test('sales by month are the sums of the file', async () => {
    const sales = await line('sales', 'month')
    expect(months.size).toBe(18)
    expect(shownBy(sales)).toEqual(byMonth(month => dollars(centsOf(month))))
    expect(sales.total).toBe(dollars(centsOf(paid)))
  })

  test('sales by weeks of seven days are the sums of the file', async () => {
    const weeks = Map.groupBy(paid, ({ day }) => Math.floor((day - FROM / 86_400) / 7))
    const { data } = await line('sales', 'week')
    expect(data.map(({ value }) => value)).toEqual(Array.from({ length: 78 }, (_, n) => dollars(centsOf(weeks.get(n) ?? []))))
  })

  test('ARPPU is what the buyers of a month spent on average, and its denominator the buyers of the file', async () => {
    const arppu = await line('arppu', 'month')
    expect(shownBy(arppu)).toEqual(byMonth(month => dollars(centsOf(month), customersOf(month))))
    expect([arppu.total, arppu.totalWeight]).toEqual([dollars(centsOf(paid), customersOf(paid)), customersOf(paid)])
  })

  test('paid orders are the facts behind the sales, and no free ones', async () => {
    const { value, facts } = await answer(`charts/sales/explain?from=${FROM}&to=${TO}&unit=month&series=${SALES}`)
    expect([value, facts]).toMatchObject([dollars(centsOf(paid)), [{ kind: 'one_time', facts: 69_579 }]])
  })

  test('cohorts by the month of the first payment have the customers, payers and revenue of the file', async () => {
    const { cohorts, total } = await answer(TRIANGLE)
    expect(cohorts.map(({ label, users }: Row) => [label, users])).toEqual([
      ['1997-01', 7_814],
      ['1997-02', 8_455],
      ['1997-03', 7_231],
      ['1997-11', 2],
    ])
    const members = Map.groupBy(byCustomer.values(), ([first]) => first!.date.slice(0, 7))
    for (const { label, users, periods } of cohorts) expect([label, { users, periods }]).toEqual([label, rowOf(members.get(label)!)])
    const all = rowOf([...byCustomer.values()])
    // All of it is long over, so that every cohort could reach every period.
    const periods = all.periods.map(({ index, label, is_complete, reachable, open, ...figures }) => ({
      ...{ index, label, is_complete, open, ...figures },
      reachable: { cohorts: 4, users: reachable, ...figures },
    }))
    expect({ users: total.users, periods: total.periods }).toEqual({ users: all.users, periods })
  })

  test('the triangle of the page about figures is the answer', async () => {
    const { cohorts, total } = await answer(TRIANGLE)
    const page = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8')
    const rows = [...cohorts, total].filter(({ label }: Row) => page.includes(`| ${label} |`)) as Row[]
    expect(rows).toHaveLength(4)
    for (const { label, users, periods } of rows) {
      const cells = periods.slice(0, 9).map(({ arpu }) => arpu.toFixed(2))
      expect(page).toContain(`| ${[label, users.toLocaleString('en'), ...cells].join(' | ')} |`)
    }
  })
})

test('the replica answered what was asked of it', () => expectAnswersByReplicas(api))

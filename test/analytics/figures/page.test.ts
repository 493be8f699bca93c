// The page about figures: its charts are those of the table, the service serves it, and its statements run as they stand.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHART_NAMES, CHARTS } from '../../../domain/analytics/figures/chart-table.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { anchorOf } from '../../../web/generate/markdown.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'

const ROOT = new URL('../../../', import.meta.url)
const committed = readFileSync(new URL('docs/analytics.md', ROOT), 'utf8')
const html = readFileSync(new URL('web/generated/analytics.html', ROOT), 'utf8')

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

describe('the page', () => {
  test.each(CHARTS)('has the formulas of $code', ({ title, code, description, series, symbols }) => {
    const [, section] = committed.split(`\n### ${title}\n`)
    const own = section!.split('\n### ')[0]!
    expect(own).toContain(description)
    expect(symbols).toHaveLength(series.length)
    for (const [i, label] of series.entries()) expect(own).toContain(`| ${label} | \`${symbols[i]}\` |`)
    expect(anchorOf(title)).toBe(code)
  })

  test('is served without a key, with an anchor for every name of a chart', async () => {
    const { status, headers, text } = await api.call('GET', '/docs/analytics', { key: null })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toBe(html)
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
    expect(new Set(ids).size).toBe(ids.length)
    expect(CHART_NAMES.filter(name => !ids.includes(name))).toEqual([])
    expect([...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id!).filter(id => !ids.includes(id))).toEqual([])
  })
})

describe('the statements of the page', () => {
  const statements = [...committed.matchAll(/```sql\n([\s\S]*?);\n```/g)].map(([, statement]) => statement!)

  test('answer what the page says of them', async () => {
    const user = await userOf(api)
    await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'g' })
    const apple = { app_store_data: { transaction_id: 't', original_transaction_id: 'o', product_id: 'm' } }
    const march = { purchased_at: '2026-03-10T00:00:00Z', expires_at: '2026-04-10T00:00:00Z', price: '8', currency: 'EUR' }
    const { body } = await purchaseOf(api, user, { ...apple, ...march })
    const refund = { refunded_at: '2026-03-11T00:00:00Z', refunded_amount: '2' }
    expect((await api.call('PATCH', body.url, { body: refund })).status).toBe(200)
    const play = { play_store_data: { purchase_token: 'p', order_id: 'p', product_id: 'g' } }
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
    const present = { purchased_at: inSeconds(-1_000_000), expires_at: inSeconds(1_000_000), price: '3' }
    expect((await purchaseOf(api, user, { ...play, ...present })).status).toBe(201)
    await api.pool.query(`insert into currency_rates (currency, date, usd_per_unit) values ('EUR', '2026-03-01', 1.5)`)
    const environment = api.project.production
    await drainMarks(api.pool, environment, 1_000)

    const answers: Record<string, unknown>[][] = []
    for (const statement of statements)
      answers.push((await api.pool.query(statement.replaceAll('environment = 1', `environment = ${environment}`))).rows)
    const [environments = [], sales = [], mrr = [], users] = answers
    expect(environments).toContainEqual({ environment, name: 'Test', kind: 'production' })
    expect(sales.map(row => [row.product_id, Number(row.sales)])).toEqual([['monthly', 9]])
    expect(mrr.map(row => [row.store, Number(row.mrr)])).toEqual([
      ['Android', 3],
      ['iOS', 0],
    ])
    expect(users).toEqual([{ country: null, users: 1 }])
    expect(answers).toHaveLength(4)
  })
})

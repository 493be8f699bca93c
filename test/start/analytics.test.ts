// A process that computes figures for API processes: the same answers, with it, without it and after its end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signature } from '../../api/analytics/signature.ts'
import { routes } from '../../api/routes.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { type Running, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'f1'.repeat(20)}`
const SECRET = 'a secret for tests only, long enough'
const TOKEN = 'a-token-for-the-metrics'
const DAY = 86_400

let database: FreshDatabase
let folder: string
let analytics: Running
let asking: Running
let alone: Running

const started = (env: Record<string, string>) =>
  run({
    env: {
      ...{ DATABASE_URL: database.url, APP_SECRET: SECRET, BOOTSTRAP_SECRET_KEY: KEY, DATA_DIR: folder },
      ...{ PORT: '0', LOG_LEVEL: 'warn', METRICS_TOKEN: TOKEN, ...env },
    },
  })

const ask = async (at: Running, path: string) => {
  const answer = await fetch(`${at.url}${path}`, { headers: { Authorization: `Bearer ${KEY}` } })
  // The moments of two answers differ, at the top and in each chart of a list.
  const body = JSON.parse(await answer.text(), (key, value) => (key === 'as_of' ? undefined : value)) as Record<string, unknown>
  return { status: answer.status, body, type: answer.headers.get('content-type') }
}
const figuresBy = async (at: Running, by: string) => {
  const text = await (await fetch(`${at.url}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })).text()
  return Number(new RegExp(`^perennial_figures_total{by="${by}"} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

const to = Math.floor(Date.now() / 1000 / DAY) * DAY
const WINDOW = `from=${to - 7 * DAY}&to=${to}&unit=day`
const QUESTIONS = [
  `/v4/analytics/charts/sales?${WINDOW}`,
  `/v4/analytics/charts?codes[]=sales&codes[]=mrr&${WINDOW}`,
  `/v4/analytics/charts/sales/facts?${WINDOW}`,
  '/v4/analytics/cohorts/meta',
  `/v4/screens/analytics/overview?${WINDOW}`,
]

beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'perennial-analytics-'))
  analytics = await started({ ROLE: 'analytics' })
  ;[asking, alone] = await Promise.all([started({ ROLE: 'api', ANALYTICS_URL: `${analytics.url}/` }), started({ ROLE: 'api' })])
  const events = Array.from({ length: 20 }, (_, n) => ({
    event_name: 'in_app_purchase',
    event_id: `order-${n}`,
    identity_id: `buyer-${n % 7}`,
    happened_at: new Date((to - (n % 6) * DAY - 3_600) * 1000).toISOString().replace(/\.\d+/, ''),
    ...{ price: `${n}.99`, currency: 'USD', product_id: 'lifetime' },
  }))
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  const posted = await fetch(`${asking.url}/v4/events`, { method: 'POST', headers, body: JSON.stringify({ events }) })
  expect(posted.status).toBeLessThan(300)
  // A question folds for a short time only, and there is no worker.
  await until('all purchases are folded', async () => {
    const { body } = await ask(alone, QUESTIONS[0]!)
    return body.behind === undefined || undefined
  })
})
afterAll(async () => {
  await Promise.all([asking, alone, analytics].map(one => one?.end()))
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('only reads can be computed by another process', () => {
  const figures = routes.filter(({ operation }) => operation.mode === 'figures').map(({ description }) => description)
  expect(figures.length).toBeGreaterThan(12)
  expect(figures.filter(({ scope }) => !scope.endsWith(':read'))).toEqual([])
})

test('an API process has its figures computed there, and answers what one that computes them itself answers', async () => {
  for (const question of QUESTIONS) expect([question, await ask(asking, question)]).toEqual([question, await ask(alone, question)])
  expect(JSON.stringify((await ask(asking, QUESTIONS[0]!)).body)).toContain('"value":')
  expect(await figuresBy(asking, 'elsewhere')).toBe(QUESTIONS.length + 1)
  expect(await figuresBy(alone, 'elsewhere')).toBe(0)
})

test('refusals are those of the operation', async () => {
  for (const wrong of ['/v4/analytics/charts/no-such-chart', `/v4/analytics/charts/sales?${WINDOW}&currency=XXX`])
    expect([wrong, await ask(asking, wrong)]).toEqual([wrong, await ask(alone, wrong)])
})

test('it answers nobody who does not know the secret of the installation, and nothing but figures', async () => {
  const post = (path: string, headers: Record<string, string> = {}, body = '{}') =>
    fetch(`${analytics.url}${path}`, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
  const forged = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA' }
  expect((await post('/figures/v4GetAnalyticsChart')).status).toBe(401)
  expect((await post('/figures/v4GetAnalyticsChart', forged)).status).toBe(401)
  const body = JSON.stringify({ version: '0.0.1', request: {} })
  const [id, at] = ['q', new Date()]
  const ofAnother = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature(secretsFrom(SECRET)).sign(id, at, body),
  }
  expect((await post('/figures/v4GetAnalyticsChart', ofAnother, body)).status).toBe(409)
  expect((await post('/figures/v4CreateEvents')).status).toBe(404)
  expect((await fetch(`${analytics.url}/v4/events`, { headers: { Authorization: `Bearer ${KEY}` } })).status).toBe(404)
  expect((await fetch(`${analytics.url}/healthz`)).status).toBe(200)
})

test('without it figures are computed by the API process, and by it again when it is back', async () => {
  const port = new URL(analytics.url).port
  await analytics.end('SIGKILL')
  expect(await ask(asking, QUESTIONS[0]!)).toEqual(await ask(alone, QUESTIONS[0]!))
  expect(await figuresBy(asking, 'away')).toBeGreaterThan(0)
  // Somebody who goes on asking does not put off the next attempt.
  let isOver = false
  const asks = (async () => {
    while (!isOver) {
      await ask(asking, QUESTIONS[0]!)
      await pause(100)
    }
  })()
  analytics = await started({ ROLE: 'analytics', PORT: port })
  const before = await figuresBy(asking, 'elsewhere')
  await expect.poll(() => figuresBy(asking, 'elsewhere'), { timeout: 40_000 }).toBeGreaterThan(before)
  isOver = true
  await asks
})

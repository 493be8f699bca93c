import { mkdtemp, rm } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { type Running, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`
const TOKEN = 'a-token-for-the-metrics'

let database: FreshDatabase
let folder: string
beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'perennial-figures-'))
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function start(env: Record<string, string>): Promise<Running> {
  const running = await run({
    env: {
      DATABASE_URL: database.url,
      APP_SECRET: 'a secret for tests only, long enough',
      BOOTSTRAP_SECRET_KEY: KEY,
      DATA_DIR: folder,
      PORT: '0',
      ROLE: 'api',
      LOG_LEVEL: 'warn',
      ...env,
    },
  })
  onTestFinished(async () => void (await running.end()))
  return running
}
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
const json = async (answer: Response): Promise<any> => answer.json()
const metricsUrl = (running: Running) => /Metrics +(\S+)\/metrics/.exec(running.output())?.[1] ?? ''

describe('metrics and the details of readiness', () => {
  test('are closed unless they are configured', async () => {
    const { url } = await start({})
    expect((await fetch(`${url}/metrics`, bearer(KEY))).status).toBe(404)
    expect(await json(await fetch(`${url}/readyz`))).toEqual({ status: 'ok' })
    expect(await json(await fetch(`${url}/healthz`))).toEqual({ status: 'ok' })
  })

  test('open with METRICS_TOKEN, and with nothing else', async () => {
    const { url } = await start({ METRICS_TOKEN: TOKEN })
    for (const wrong of [{}, bearer(KEY), bearer(`${TOKEN}x`)]) {
      const answer = await fetch(`${url}/metrics`, wrong)
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(await json(await fetch(`${url}/readyz`, wrong))).toEqual({ status: 'ok' })
    }
    const allowed = bearer(TOKEN)
    expect(await json(await fetch(`${url}/readyz`, allowed))).toMatchObject({ status: 'ok', overdue: 0 })
    expect(await (await fetch(`${url}/metrics`, allowed)).text()).toContain('perennial_http_requests_total')
  })

  test('have a port of their own with METRICS_PORT, which serves nothing else', async () => {
    const running = await start({ METRICS_PORT: '0' })
    const at = metricsUrl(running)
    expect(at).not.toBe(running.url)
    expect(await (await fetch(`${at}/metrics`)).text()).toContain('process_cpu')
    expect(await json(await fetch(`${at}/readyz`))).toMatchObject({ status: 'ok', overdue: 0 })
    for (const path of ['/v4/events', '/docs', '/files/exports/x', '/operator/queues'])
      expect([path, (await fetch(at + path, bearer(KEY))).status]).toEqual([path, 404])
    expect((await fetch(`${running.url}/metrics`)).status).toBe(404)
    expect(await json(await fetch(`${running.url}/readyz`))).toEqual({ status: 'ok' })
  })

  test('need the token on their own port as well, if there is one', async () => {
    const running = await start({ METRICS_PORT: '0', METRICS_TOKEN: TOKEN })
    for (const url of [running.url, metricsUrl(running)]) {
      expect((await fetch(`${url}/metrics`)).status).toBe(401)
      expect((await fetch(`${url}/metrics`, bearer(TOKEN))).status).toBe(200)
    }
  })
})

test('a worker shows its own work, and of the installation the same as the API; neither drains where nobody waits for it', async () => {
  const { pool } = database
  await pool.query(
    `insert into fact_audit (looked_at, drifted_total, compared_total) values (clock_timestamp(), 3, 4000)
     on conflict (one) do update set drifted_total = 3, compared_total = 4000`,
  )
  await pool.query(
    `insert into watchdog (looked_at, orphans, repaired) values (clock_timestamp(), 0, 7) on conflict (one) do update set repaired = 7`,
  )
  // What the tests before have read is fresh for five seconds.
  await pool.query('delete from drift_figures')
  const env = { METRICS_PORT: '0', DRAIN_SECONDS: '600' }
  const [api, worker] = [await start(env), await start({ ...env, ROLE: 'worker' })]
  const lines = async (one: Running) => (await (await fetch(`${metricsUrl(one)}/metrics`)).text()).split('\n')
  const stored = ['perennial_facts_compared_total 4000', 'perennial_fact_drift_total 3', 'perennial_orphans_repaired 7']
  for (const [role, one] of [
    ['api', api],
    ['worker', worker],
  ] as const) {
    const shown = await until('the figures', async () => {
      const found = await lines(one)
      return stored.every(line => found.includes(line)) ? found : undefined
    })
    const info = shown.find(line => line.startsWith('perennial_build_info{'))
    expect(info).toMatch(new RegExp(`version="[^"]+",runtime="(Node|Deno) [^"]+",role="${role}"\\} 1$`))
    expect(shown.filter(line => line.startsWith('perennial_redis'))).toEqual([])
  }
  expect(await json(await fetch(`${metricsUrl(worker)}/readyz`))).toMatchObject({ status: 'ok', overdue: 0 })
  expect((await fetch(`${metricsUrl(worker)}/v4/events`, bearer(KEY))).status).toBe(404)
  await createExport(api.url)
  await until('the run of the export', async () =>
    (await lines(worker)).some(line => /^perennial_runs_total\{kind="export",outcome="succeeded"\} [1-9]/.test(line)) ? true : undefined,
  )
  expect(await json(await fetch(`${metricsUrl(worker)}/healthz`))).toEqual({ status: 'ok' })
  // A worker has nothing to drain, and who presses Ctrl-C does not wait.
  expect([await worker.end('SIGTERM'), await api.end('SIGINT')]).toEqual([0, 0])
})

async function createExport(url: string): Promise<void> {
  const answer = await fetch(`${url}/v4/exports`, {
    method: 'POST',
    ...{ headers: { ...bearer(KEY).headers, 'Content-Type': 'application/json' } },
    body: JSON.stringify(WHOLE_YEAR),
  })
  expect(answer.status).toBeLessThan(300)
}

test('with the embedded database the service listens on the loopback address, otherwise on all', () => {
  expect(readConfig({}).host).toBe('127.0.0.1')
  expect(readConfig({ HOST: '0.0.0.0' }).host).toBe('0.0.0.0')
  expect(readConfig({ DATABASE_URL: 'postgres://db/x', APP_SECRET: 'x'.repeat(32) }).host).toBeUndefined()
})

test('HOST is where the service listens, and nowhere else', async () => {
  const outer = Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)
  const { url } = await start({ HOST: '127.0.0.1' })
  const { port } = new URL(url)
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  // Another loopback address is as good as one of the network where the machine has none.
  await expect(fetch(`http://${outer?.address ?? '127.0.0.2'}:${port}/healthz`)).rejects.toThrow('fetch failed')
})

test('the log of requests has routes and no ids', async () => {
  const running = await start({ LOG_LEVEL: 'info' })
  for (const path of [
    '/v4/users/anna-secret',
    '/v4/users/anna-secret/nothing',
    '/anna-secret',
    '/files/exports/anna-secret',
    '/v4/events?a=anna-secret',
  ])
    await fetch(running.url + path, bearer(KEY))
  await fetch(`${running.url}/healthz`)
  const lines = await until('the log', async () => {
    const found = running
      .output()
      .split('\n')
      .filter(line => line.includes('"msg":"request"'))
    return found.length >= 6 ? found.map(line => JSON.parse(line)) : undefined
  })
  expect(lines.map(({ route }) => route)).toEqual(['/v4/users/{user_id}', undefined, undefined, '/files/{file}', '/v4/events', '/healthz'])
  expect(running.output()).not.toContain('anna-secret')
})

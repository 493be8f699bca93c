import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { eraseUser, erasuresEnded, filesWith } from '../../harness/erasure.ts'
import { item } from '../../harness/events.ts'
import { exportAll, WHOLE_YEAR } from '../../harness/exports.ts'
import { reportTo } from '../../harness/reports.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 3 })
  const events = [
    item({
      event_name: 'subscription_refunded',
      identity_id: 'anna',
      price: '5',
      currency: 'EUR',
      device: { model: '=1+1', locale: '+de', os_version: 'a=b', id: "'=quoted" },
      app: { version: '-2', sdk_version: '@sum', name: '\tTab' },
      attribution: { media_source: '\r=x', campaign: '\n=y', ad: '=a "b", c' },
    }),
    ...Array.from({ length: 5 }, () => item({ identity_id: 'ben' })),
  ]
  expect((await api.call('POST', '/v4/events', { body: { events } })).body.created).toBe(6)
  await api.pool.query(`insert into users (environment, id, created_at, last_seen_at) values ($1, '-dora', now(), now())`, [
    api.project.production,
  ])
  await api.call('POST', '/v4/events', { body: { events: [item({ customer_uid: '-dora' })] } })
})
afterAll(() => api.stop())

const rowsOf = (text: string): Record<string, string>[] => parse(text, { columns: true })
const annas = (text: string) => rowsOf(text).find(row => row['User ID'] === 'anna')!

test('with formula_guard the texts of a CSV that begin like a formula get a quote, and nothing else changes', async () => {
  const plain = await exportAll(api, WHOLE_YEAR)
  const guarded = await exportAll(api, { ...WHOLE_YEAR, formula_guard: true, compression: 'none' })
  expect([plain.object.formula_guard, guarded.object.formula_guard]).toEqual([false, true])
  expect(guarded.object.manifest.sha256).toBe(guarded.sha256)
  expect(guarded.sha256).not.toBe(plain.sha256)
  const changed = {
    Device: "'=1+1",
    Locale: "'+de",
    'App version': "'-2",
    'SDK version': "'@sum",
    'App Name': "'\tTab",
    'Media source': "'\r=x",
    Campaign: "'\n=y",
    Ad: `'=a "b", c`,
  }
  expect(annas(guarded.text)).toEqual({ ...annas(plain.text), ...changed })
  expect(annas(guarded.text)).toMatchObject({ Price: '-5.00', 'OS version': 'a=b', 'Device ID': "'=quoted" })
  expect(rowsOf(guarded.text).map(row => row['Q User ID'])).toContain("'-dora")
})

test.each(['json', 'ndjson'])('the guard does not concern %s', async format => {
  const plain = await exportAll(api, { ...WHOLE_YEAR, format })
  const guarded = await exportAll(api, { ...WHOLE_YEAR, format, formula_guard: true })
  expect(guarded.object.formula_guard).toBe(true)
  expect(guarded.text).toBe(plain.text)
})

test('an erasure finds the rows of a user whose id has the quote of the guard before it', async () => {
  const { object } = await exportAll(api, { ...WHOLE_YEAR, formula_guard: true })
  expect(object.manifest.rows).toBe(7)
  expect(await filesWith(api.files, '-dora')).not.toEqual([])
  await eraseUser(api.pool, api.project.production, '-dora')
  await erasuresEnded(api.pool)
  expect(await filesWith(api.files, '-dora')).toEqual([])
  expect((await api.call('GET', `/v4/exports/${object.id}`)).body.manifest.rows).toBe(6)
})

test('a report is guarded unless it says otherwise where a destination is e-mail or Slack', async () => {
  const { sandbox: key, sandboxEnvironment } = api.project
  const at = (slug: string) => storedIntegration(api.pool, sandboxEnvironment, { slug, settings: { recipients: ['a@example.org'] } })
  const [email, slack, hook] = [await at('email'), await at('slack'), await at('webhooks')]
  const create = async (ids: string[], fields = {}) =>
    (await api.call('POST', '/v4/scheduled-reports', { key, body: reportTo(ids, { ...fields, status: 'draft' }) })).body
  const made = await create([hook, email])
  expect([made.formula_guard, (await create([slack])).formula_guard, (await create([hook])).formula_guard]).toEqual([true, true, false])
  expect((await create([email], { formula_guard: false })).formula_guard).toBe(false)
  expect((await create([hook], { formula_guard: true })).formula_guard).toBe(true)
  const change = async (ids: string[], fields = {}) =>
    (await api.call('PUT', made.url, { key, body: reportTo(ids, { ...fields, status: 'draft' }) })).body.formula_guard
  expect(await change([hook, email], { formula_guard: false })).toBe(false)
  expect(await change([hook])).toBe(false)
  expect(await change([hook, email])).toBe(true)
  expect((await api.call('POST', `${made.url}/send-test`, { key })).status).toBe(202)
  const exported = await until('the export of the test', async () => (await api.call('GET', '/v4/exports/history', { key })).body.data[0])
  expect(exported.formula_guard).toBe(true)
})

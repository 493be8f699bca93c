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
let ids: Record<string, string>
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 2 })
  const events = [
    item({ event_id: 'order-1', identity_id: 'anna', properties: { q_user_id: 'not a user', plan: 'a "b", c', steps: 3 } }),
    item({ event_id: 'order-2', identity_id: 'ben' }),
    item({ event_id: 'order-3', identity_id: 'ben', properties: { gift: true } }),
  ]
  const { results } = (await api.call('POST', '/v4/events', { body: { events } })).body
  ids = Object.fromEntries(results.map(({ event_id, id }: { event_id: string; id: string }) => [event_id, id]))
})
afterAll(() => api.stop())

const PROPERTIES = { 'order-1': { q_user_id: 'not a user', plan: 'a "b", c', steps: 3 }, 'order-2': null, 'order-3': { gift: true } }
const headerOf = (text: string) => text.slice(0, text.indexOf('\n'))

test('the documented columns stay as they are, and what is included follows them in one order', async () => {
  const plain = await exportAll(api, WHOLE_YEAR)
  const included = await exportAll(api, { ...WHOLE_YEAR, include: ['properties', 'event_id'] })
  expect([plain.object.include, included.object.include]).toEqual([[], ['event_id', 'properties']])
  expect(headerOf(included.text)).toBe(`${headerOf(plain.text)},Event ID,Event properties`)
  const rows: Record<string, string>[] = parse(included.text, { columns: true })
  expect(Object.fromEntries(rows.map(row => [row['Event ID'], JSON.parse(row['Event properties'] || 'null')]))).toEqual(PROPERTIES)
  const before: Record<string, string>[] = parse(plain.text, { columns: true })
  expect(rows.map(({ 'Event ID': _id, 'Event properties': _properties, ...rest }) => rest)).toEqual(before)
})

test.each(['json', 'ndjson'])('%s has the same, with properties as an object', async format => {
  const { text } = await exportAll(api, { ...WHOLE_YEAR, format, include: ['event_id', 'properties'] })
  const rows: Record<string, unknown>[] =
    format === 'json'
      ? JSON.parse(text)
      : text
          .trim()
          .split('\n')
          .map(line => JSON.parse(line))
  expect(Object.fromEntries(rows.map(row => [row.event_id, row.event_properties]))).toEqual(PROPERTIES)
})

test('customers have no such columns', async () => {
  const refused = await api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, type: 'customers', include: ['event_id'] } })
  expect([refused.status, refused.body.error.details]).toEqual([400, [{ field: 'include', message: 'must be empty for customers' }]])
})

test('each event is read at its address, alone as in the list, with the id of webhooks and files', async () => {
  const { data } = (await api.call('GET', '/v4/events?sort_order=asc')).body
  expect(data.map(({ id }: { id: string }) => id).sort()).toEqual(Object.values(ids).sort())
  for (const one of data) {
    expect((await api.call('GET', one.url)).body).toEqual(one)
    const own = Object.keys(ids).find(key => ids[key] === one.id)!
    expect(one).toMatchObject({ event_id: own, properties: PROPERTIES[own as keyof typeof PROPERTIES] ?? {} })
  }
  expect((await api.call('GET', '/v4/events/evt_none')).status).toBe(404)
  expect((await api.call('GET', data[0].url, { key: api.project.sandbox })).status).toBe(404)
})

test('a report takes the types of exports and what is included', async () => {
  const hook = await storedIntegration(api.pool, api.project.production, { slug: 'webhooks', settings: { url: 'https://example.org/' } })
  const create = (fields: Record<string, unknown>) => api.call('POST', '/v4/scheduled-reports', { body: reportTo([hook], fields) })
  const made = await create({ environment: 'production', status: 'draft', include: ['properties', 'event_id'] })
  expect([made.status, made.body.type, made.body.include]).toEqual([201, 'events', ['event_id', 'properties']])
  const wrong = await create({ environment: 'production', type: 'customers', include: ['event_id'] })
  expect([wrong.status, wrong.body.error?.details]).toEqual([400, [{ field: 'include', message: 'must be empty for customers' }]])
  for (const [fields, header] of [
    [{ include: ['event_id', 'properties'] }, ',Event ID,Event properties\n'],
    [{ type: 'customers' }, ',Revenue USD,User properties\n'],
    [{ type: 'purchases_state' }, ',Screen ID,Verified Date,Record Date'],
    [{ type: 'subscriptions' }, ',Refund Date,Currency,Price'],
    [{ type: 'entitlements' }, ',Product ID,Start Date,End Date\n'],
  ] as const) {
    const { body: report } = await create({ environment: 'production', status: 'draft' })
    const body = reportTo([hook], { environment: 'production', status: 'draft', ...fields })
    expect((await api.call('PUT', report.url, { body })).body).toMatchObject(fields)
    const history = async () => (await api.call('GET', '/v4/exports/history?limit=100')).body.data
    const before = (await history()).length
    expect((await api.call('POST', `${report.url}/send-test`)).status).toBe(202)
    const file = await until('the file of the test', async () => {
      const [newest, ...others] = await history()
      return others.length === before && newest.status === 'done' ? newest : undefined
    })
    expect(await (await fetch(file.file_url)).text()).toContain(header)
  }
})

test('an erasure finds the rows of its user where the included columns follow', async () => {
  const csv = await exportAll(api, { ...WHOLE_YEAR, include: ['event_id', 'properties'] })
  const json = await exportAll(api, { ...WHOLE_YEAR, format: 'ndjson', include: ['event_id', 'properties'] })
  const parquet = await exportAll(api, { ...WHOLE_YEAR, format: 'parquet', include: ['event_id', 'properties'] })
  const user = (await api.call('GET', '/v4/identities/anna')).body.user_id
  expect((await filesWith(api.files, user)).length).toBeGreaterThan(0)
  await eraseUser(api.pool, api.project.production, user)
  await erasuresEnded(api.pool)
  expect(await filesWith(api.files, user)).toEqual([])
  for (const { object } of [csv, json, parquet]) expect((await api.call('GET', `/v4/exports/${object.id}`)).body.manifest.rows).toBe(2)
})

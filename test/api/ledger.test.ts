import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { runRow } from '../harness/job-rows.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true })
})
afterAll(() => api.stop())

const ledger = async (query = '', key?: string) => api.call('GET', `/v4/ledger${query}`, key ? { key } : {})
const WINDOW = { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-02-01T00:00:00Z' }
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

test('without a window the ledger covers the last 24 hours, up to this moment', async () => {
  const made = await api.call('POST', '/v4/exports', { body: WINDOW })
  const { status, body } = await ledger()
  expect(status).toBe(200)
  expect(body.data.map((entry: { kind: string }) => entry.kind)).toEqual(['report_slots', 'automation_runs', 'deliveries', 'exports'])
  expect(Date.parse(body.to) - Date.parse(body.from)).toBe(86_400_000)
  expect(body.to).toBe(body.generated_at)
  expect(body.data[3]).toMatchObject({ promised: 1, broken: 0, declined: 0, reasons: {}, oldest_overdue_id: null })
  await until('the export to be done', async () => ((await api.call('GET', made.body.url)).body.status === 'done' ? true : undefined))
  expect((await ledger('?kind=exports')).body.data).toMatchObject([
    { kind: 'exports', promised: 1, kept: 1, outstanding: 0, outcomes: { done: 1 } },
  ])
  expect((await ledger('', api.project.sandbox)).body.data[3].promised).toBe(0)
  expect((await ledger('', (await api.newProject()).secret)).body.data[3].promised).toBe(0)
})

test('the window begins with its first second and ends before its last', async () => {
  const { secret: key, production } = await api.newProject()
  await runRow(api.pool, production, { at: '2026-02-01T00:00:00.900Z', status: 'skipped', reason: 'no_user' })
  const promised = async (from: string, to: string) => {
    const { body } = await ledger(`?kind=automation_runs&from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`, key)
    return body.data[0].promised
  }
  expect(await promised('2026-02-01T00:00:00Z', '2026-02-01T00:00:01Z')).toBe(1)
  // Fractions are cut off.
  expect(await promised('2026-02-01T00:00:00.95Z', '2026-02-01T01:00:01.9999999+01:00')).toBe(1)
  expect(await promised('2026-01-31T00:00:00Z', '2026-02-01T00:00:00Z')).toBe(0)
  expect(await promised('2026-02-01T00:00:01Z', '2026-02-02T00:00:00Z')).toBe(0)
})

test.each([
  ['?from=2026-03-01T00:00:00Z&to=2026-03-01T00:00:00Z', 'to'],
  ['?to=2026-03-01T00:00:00Z', 'to'],
  [`?from=${new Date(Date.now() + 86_400_000).toISOString()}`, 'from'],
  ['?from=2025-01-01T00:00:00Z&to=2026-01-02T00:00:01Z', 'from'],
  ['?from=2020-01-01T00:00:00Z', 'from'],
  ['?kind=promises', 'kind'],
  ['?from=yesterday', 'from'],
  ['?limit=1', 'limit'],
])('400 on its field: %s', async (query, field) => {
  const { status, body } = await ledger(query)
  expect(status).toBe(400)
  expect(body.error.details[0].field).toBe(field)
})

test('due slots of an active report count before a worker takes them; future slots do not', async () => {
  const { secret: key, production } = await api.newProject()
  const time = (next: string) => next.slice(11, 16)
  const report = (next: string | null, send_at = '09:00', timezone = 'UTC') =>
    api.pool.query(
      `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence,
         missed, on_dst_gap, on_dst_overlap, format, next_slot, created_at, updated_at)
       values ($1, 'rep_' || gen_random_uuid(), 'r', $3, 1, $4, '[]', $5, 'daily', 'once', 'shift', 'first', 'csv', $2, now(), now())`,
      [production, next, send_at, next === null ? 'draft' : 'active', timezone],
    )
  const minute = (hours: number) => `${ago(hours).slice(0, 16)}:00Z`
  const [hourAgo, daysAgo] = [minute(1), minute(49)]
  await report(hourAgo, time(hourAgo))
  await report(minute(-1), time(minute(-1)))
  await report(null)
  expect((await ledger(`?kind=report_slots&to=${ago(-48)}`, key)).body.data[0]).toMatchObject({
    promised: 1,
    outstanding: 1,
    overdue: 1,
    oldest_overdue_at: hourAgo,
    oldest_overdue_id: null,
  })
  // The worker was down: the slots of 49, 25 and 1 hours ago.
  await report(daysAgo, time(daysAgo))
  const { body } = await ledger(`?kind=report_slots&from=${ago(100)}`, key)
  expect(body.data[0]).toMatchObject({ promised: 4, outstanding: 4, overdue: 4, oldest_overdue_at: daysAgo })
  expect((await ledger('?kind=report_slots', key)).body.data[0].promised).toBe(2)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
let key: string
beforeAll(async () => {
  api = await startApi({ worker: true })
  key = api.project.sandbox
  await product(api, { id: 'monthly', stripe_product_id: 'm' }, key)
})
afterAll(() => api.stop())

const clock = async () => (await api.call('GET', '/v4/test-clock', { key })).body
const advance = (body: object, headers = {}) => api.call('POST', '/v4/test-clock/advance', { key, body, headers })
const seconds = (iso: string) => Date.parse(iso) / 1000

test('production has no test clock', async () => {
  for (const [method, path] of [
    ['GET', '/v4/test-clock'],
    ['POST', '/v4/test-clock/advance'],
  ] as const)
    expect((await api.call(method, path, { body: method === 'POST' ? { by: 'P1D' } : undefined })).body.error.code).toBe(
      'control_forbidden',
    )
})

test.each([
  [{}, 'body'],
  [{ by: 'P1D', to: '2030-01-01T00:00:00Z' }, 'body'],
  [{ by: 'P1Y1D' }, 'by'],
  [{ by: 'PT0S' }, 'by'],
  [{ by: 'P' }, 'by'],
  [{ by: '-P1D' }, 'by'],
  [{ by: 'P999Y' }, 'by'],
  [{ to: '2020-01-01T00:00:00Z' }, 'to'],
  [{ to: '9999-01-01T00:00:00Z' }, 'to'],
])('400 on its field: %j', async (body, field) => {
  const before = await clock()
  const answer = await advance(body)
  expect(answer.status).toBe(400)
  expect(answer.body.error.details[0].field).toBe(field)
  expect((await clock()).offset_seconds).toBe(before.offset_seconds)
})

test('the clock advances by the calendar, and that of production does not', async () => {
  const before = await clock()
  const { status, body } = await advance({ by: 'P1M' })
  expect(status).toBe(200)
  expect(body.drained).toEqual({ report_slots: 0, automation_runs: 0, deliveries: 0, exports: 0 })
  const [from, to] = [new Date(before.now), new Date(body.now)]
  const lastOfNext = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 2, 0))
  const day = Math.min(from.getUTCDate(), lastOfNext.getUTCDate())
  const wanted = Date.UTC(lastOfNext.getUTCFullYear(), lastOfNext.getUTCMonth(), day) + (from.getTime() % 86_400_000)
  expect(Math.abs(to.getTime() - wanted)).toBeLessThanOrEqual(30_000)
  const { rows } = await api.pool.query('select extract(epoch from clock_offset)::int as ahead from environments where id = $1', [
    api.project.production,
  ])
  expect(rows).toEqual([{ ahead: 0 }])
})

test('jobs that become due during an advance are executed in order and at their time', async () => {
  const user = await userOf(api, key)
  const { now } = await clock()
  const stripe_store_data = { subscription_id: 'sub_clock', product_id: 'm' }
  const expires_at = new Date(Date.parse(now) + 7 * 86_400_000).toISOString()
  await purchaseOf(api, user, { price: '0', purchased_at: now, expires_at, stripe_store_data }, key)
  const recorded = async () => {
    const { rows } = await api.pool.query(
      'select name, happened_at, received_at::text as received from events where user_id = $1 order by log_offset',
      [user],
    )
    return rows
  }
  await advance({ by: 'P9D' })
  const events = await recorded()
  expect(events.map(event => event.name)).toEqual(['trial_started', 'trial_still_active', 'trial_expired'])
  const [begin, still, end] = events.map(event => seconds(event.happened_at) - seconds(now))
  expect([begin, end]).toEqual([0, 7 * 86_400])
  // The product dates this event, not the store: a moment after it was due.
  expect(still! - 2 * 86_400).toBeGreaterThanOrEqual(0)
  expect(still! - 2 * 86_400).toBeLessThan(60)
  // The end is recorded a day later, because a renewal could still have joined.
  const lag = (Date.parse(events[2]!.received) - Date.parse(expires_at)) / 3_600_000
  expect(lag).toBeGreaterThanOrEqual(24)
  expect(lag).toBeLessThan(24.1)
  expect((await api.call('GET', `/v4/customers/${user}`, { key })).body.data.customer.status).toBe('none')
})

test('an export in the sandbox is done, and its file deleted, when the clock has passed their times', async () => {
  const made = await api.call('POST', '/v4/exports', {
    key,
    body: { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-02-01T00:00:00Z' },
  })
  const { body } = await advance({ by: 'PT1S' })
  expect(body.drained.exports).toBe(1)
  expect((await api.call('GET', made.body.url, { key })).body.status).toBe('done')
  await advance({ by: 'P8D' })
  expect((await api.call('GET', made.body.url, { key })).body.file_url).toBeNull()
})

test('of two concurrent advances one succeeds and the other is refused; a repeat with the same key advances once', async () => {
  const before = await clock()
  const both = await Promise.all([advance({ by: 'P1D' }), advance({ by: 'P1D' })])
  const done = both.filter(answer => answer.status === 200).length
  expect(both.every(answer => answer.status === 200 || answer.body.error.code === 'conflict')).toBe(true)
  const headers = { 'Idempotency-Key': 'once' }
  const first = await advance({ by: 'P1D' }, headers)
  expect((await advance({ by: 'P1D' }, headers)).text).toBe(first.text)
  const passed = (await clock()).offset_seconds - before.offset_seconds
  expect(Math.round(passed / 86_400)).toBe(done + 1)
})

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { lockedWaiters } from '../harness/locked-waiters.ts'
import { until } from '../harness/until.ts'

// Requests of project A hang in the database, because a table is locked. There are more of them than connections.
let api: TestApi
let locked: Awaited<ReturnType<typeof lockedWaiters>> | undefined
let hanging: Promise<{ status: number }>[] = []
beforeAll(async () => {
  api = await startApi({ requestsAtOnce: 4 })
})
afterEach(async () => {
  await locked?.release()
  expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual(hanging.map(() => 200))
})
afterAll(() => api.stop())

async function hang(table: string, path: string, statements: number): Promise<void> {
  locked = await lockedWaiters(api.pool, table)
  hanging = Array.from({ length: 12 }, () => api.call('GET', path))
  await until('requests of A hang', async () => ((await locked!.count()) >= statements ? true : undefined))
}

test('statements of one project that hang leave connections for another one, for a new key, and for readiness', async () => {
  await hang('products', '/v4/products', 2)
  const other = await api.newProject()
  expect((await api.call('GET', '/v4/entitlements', { key: other.secret })).status).toBe(200)
  expect((await api.call('POST', '/v4/users', { key: other.secret, body: { environment: 'prod' } })).status).toBe(201)
  expect(await api.call('GET', '/readyz', { key: null })).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await locked!.count()).toBe(2)
})

test('expensive reads of a project that hang leave turns for its own other requests', async () => {
  await hang('audit_log', '/v4/audit-log', 1)
  for (let n = 0; n < 5; n++) expect((await api.call('GET', '/v4/entitlements')).status).toBe(200)
  expect(await locked!.count()).toBe(1)
})

test.each([
  ['tests of an integration', 'integrations', 'integrations/int_1/test', {}],
  ['backtests', 'automations', 'automations/aut_1/backtest', { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }],
  ['repeated requests', 'idempotent_answers', 'integrations/int_1/test', {}],
])('%s of a project whose first statements hang use no more connections than its other requests', async (_what, table, path, body) => {
  locked = await lockedWaiters(api.pool, table)
  hanging = []
  const headers = { 'Idempotency-Key': `key of ${table}` }
  const requested = Array.from({ length: 12 }, () => api.call('POST', `/v4/${path}`, { body, headers }))
  await until('requests of A hang', async () => ((await locked!.count()) >= 2 ? true : undefined))
  const other = await api.newProject()
  expect((await api.call('GET', '/v4/entitlements', { key: other.secret })).status).toBe(200)
  expect(await locked.count()).toBe(2)
  await locked.release()
  for (const { status } of await Promise.all(requested)) expect([404, 409]).toContain(status)
})

test('requests for files, which need no key, leave connections for requests with a key', async () => {
  locked = await lockedWaiters(api.pool, 'exports')
  hanging = []
  const requested = Array.from({ length: 20 }, () => api.call('GET', `/files/exports/${'x'.repeat(32)}?signature=x`, { key: null }))
  await until('requests for files hang', async () => ((await locked!.count()) >= 2 ? true : undefined))
  expect((await api.call('GET', '/v4/entitlements')).status).toBe(200)
  expect(await locked.count()).toBe(2)
  await locked.release()
  for (const { status } of await Promise.all(requested)) expect(status).toBe(404)
})

test('lookups of keys that hang leave readiness alone', async () => {
  const others = await Promise.all(Array.from({ length: 6 }, () => api.newProject()))
  locked = await lockedWaiters(api.pool, 'keys')
  hanging = others.map(({ secret }) => api.call('GET', '/v4/entitlements', { key: secret }))
  await until('lookups hang', async () => ((await locked!.count()) >= 3 ? true : undefined))
  expect(await api.call('GET', '/readyz', { key: null })).toMatchObject({ status: 200, body: { status: 'ok' } })
})

test('a request that waits too long for its turn gets upstream_timeout, and the others go on', async () => {
  const impatient = await startApi({ requestsAtOnce: 2, longestWaitMs: 50 })
  const blocked = await lockedWaiters(impatient.pool, 'products')
  try {
    const first = impatient.call('GET', '/v4/products')
    await until('a request hangs', async () => ((await blocked.count()) === 1 ? true : undefined))
    const second = await impatient.call('GET', '/v4/products')
    expect([second.status, second.body.error.code]).toEqual([504, 'upstream_timeout'])
    await blocked.release()
    expect((await first).status).toBe(200)
    expect((await impatient.call('GET', '/v4/products')).status).toBe(200)
  } finally {
    await blocked.release()
    await impatient.stop()
  }
})

test('readiness and metrics answer with the last figures while the figures take long to read', async () => {
  const look = () => api.call('GET', '/readyz', { key: null })
  expect((await look()).body).toMatchObject({ status: 'ok', overdue: 0 })
  hanging = []
  locked = await lockedWaiters(api.pool, 'due')
  expect(await look()).toMatchObject({ status: 200, body: { overdue: 0 } })
  expect((await api.call('GET', '/metrics', { key: null })).text).toContain('perennial_orphans 0')
  expect(await locked.count()).toBe(1)
})

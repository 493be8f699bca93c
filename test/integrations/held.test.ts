import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, post, sandbox } from '../harness/integrations.ts'
import { deliveryRow, integrationRow } from '../harness/job-rows.ts'
import { OK } from '../harness/receiver.ts'

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())
beforeEach(async () => {
  made = await hook({ call })
})
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

const ledger = async () => (await call('GET', '/v4/ledger?kind=deliveries')).body.data[0]
const later = (time: string, seconds: number) => `${new Date(Date.parse(time) + seconds * 1000).toISOString().slice(0, 19)}Z`
const people = Array.from({ length: 10 }, (_, i) => ({ identity_id: `person-${i}` }))

test('an integration in error says what it holds, since when, how far it lags, and when it is tried next', async () => {
  expect(await made.show()).toMatchObject({ active: 1, held: 0, held_since: null, lag_seconds: 0, next_probe_at: null })
  made.receiver.otherwise = { status: 500 }
  await post(call, ...people)
  await made.become(...people.map(() => 'held'))
  const { last_error_at: since, ...inError } = await made.show()
  expect(inError).toMatchObject({ active: 2, held: 10 })
  expect([since, later(since, -1)]).toContain(inError.held_since)
  expect([later(since, 300), later(since, 301)]).toContain(inError.next_probe_at)
  expect(await ledger()).toMatchObject({ outstanding: 10, held: 10, overdue: 0 })

  await advance(call, 'PT1H')
  const still = await made.show()
  expect(still).toMatchObject({ active: 2, held: 10, held_since: inError.held_since })
  expect(still.lag_seconds).toBeGreaterThanOrEqual(3600)
  expect(Date.parse(still.next_probe_at)).toBeGreaterThan(Date.parse(inError.next_probe_at))
  const [first] = await made.deliveries()
  expect((await ledger()).oldest_held_at).toBe(first.created_at)

  made.receiver.otherwise = OK
  await made.status(1)
  await made.become(...people.map(() => 'delivered'))
  expect(await made.show()).toMatchObject({ active: 1, held: 0, held_since: null, lag_seconds: 0, next_probe_at: null })
  expect(await ledger()).toMatchObject({ held: 0, oldest_held_at: null })
})

test('a paused integration holds what comes from then on, and is never probed', async () => {
  await made.status(0)
  expect(await made.show()).toMatchObject({ held: 0, held_since: null })
  await advance(call, 'PT1H')
  await post(call, {})
  await made.become('held')
  const [{ created_at }] = await made.deliveries()
  expect(await made.show()).toMatchObject({ active: 0, held: 1, held_since: created_at, next_probe_at: null })
  expect(await ledger()).toMatchObject({ held: 1, oldest_held_at: created_at })
})

test('readiness and metrics count what errors hold in production, and are degraded after 15 minutes', async () => {
  const own = await startApi()
  const ready = async () => (await own.call('GET', '/readyz')).body
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
  const hold = async (environment: number, active: 0 | 2, seconds: number) => {
    const integration = await integrationRow(own.pool, environment, active)
    await own.pool.query('update integrations set held_since = $2 where number = $1', [integration, ago(seconds)])
    await deliveryRow(own.pool, environment, { integration, at: ago(10_000), status: 'retrying' })
    return integration
  }
  try {
    await hold(own.project.production, 0, 5000)
    await hold(own.project.sandboxEnvironment, 2, 5000)
    expect(await ready()).toMatchObject({ status: 'ok', held: 0, oldest_held_seconds: 0 })
    const integration = await hold(own.project.production, 2, 800)
    const { status, held, oldest_held_seconds } = await ready()
    expect([status, held]).toEqual(['ok', 1])
    expect(oldest_held_seconds).toBeGreaterThanOrEqual(800)
    await own.pool.query('update integrations set held_since = $2 where number = $1', [integration, ago(901)])
    expect(await ready()).toMatchObject({ status: 'degraded', held: 1, overdue: 0 })
    expect((await own.call('GET', '/metrics')).text).toMatch(/^perennial_held 1$[\s\S]*^perennial_oldest_held_seconds 90\d/m)
  } finally {
    await own.stop()
  }
})

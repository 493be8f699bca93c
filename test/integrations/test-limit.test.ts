import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { type Hook, hook, must, sandbox } from '../harness/integrations.ts'

const LIMIT = 10

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi()
  call = sandbox(api)
})
afterAll(() => api.stop())
beforeEach(async () => {
  // The activation is the first test of the minute.
  made = await hook({ call })
})
afterEach(() => made.receiver.close())

const status = (value: 0 | 1, id = made.id) => call('POST', `/v4/integrations/${id}/status`, { body: { status: value } })
const tested = () => call('POST', `/v4/integrations/${made.id}/test`)
const refused = { status: 429, body: { error: { code: 'rate_limit_exceeded' } } }

test('activations count against the limit of ten tests a minute: the receiver gets no more requests', async () => {
  for (let n = 1; n < LIMIT; n++) {
    await made.status(0)
    await made.status(1)
  }
  await made.status(0)
  expect(made.receiver.received).toHaveLength(LIMIT)
  const answer = await status(1)
  expect(answer).toMatchObject(refused)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await tested()).toMatchObject(refused)
  expect((await made.show()).active).toBe(0)
  expect(made.receiver.received).toHaveLength(LIMIT)
  // A test that is due no more counts no more.
  await api.pool.query(`update integrations set tested_at[1] = tested_at[1] - interval '1 minute' where id = $1`, [made.id])
  expect((await status(1)).status).toBe(200)
})

test('a change of the address of an active integration counts, and nothing is changed beyond the limit', async () => {
  const address = (n: number) => ({ settings: { url: made.receiver.url, sandbox_url: `${made.receiver.url}/${n}` } })
  const change = (n: number) => call('PUT', `/v4/integrations/${made.id}/config`, { body: address(n) })
  for (let n = 1; n < LIMIT; n++) expect((await change(n)).status).toBe(200)
  // The same address again asks nobody.
  expect((await change(LIMIT - 1)).status).toBe(200)
  expect(await change(LIMIT)).toMatchObject(refused)
  expect(made.receiver.received).toHaveLength(LIMIT)
  const { settings } = await must(call, 'GET', `/v4/integrations/${made.id}/config`)
  expect(settings.sandbox_url).toBe(`${made.receiver.url}/${LIMIT - 1}`)
})

test('a start that asks nobody does not count', async () => {
  const settings = { api_key: 'key' }
  const { id } = await must(call, 'POST', '/v4/integrations', { title: 'Charts', integration: 'amplitude', target_platform: 'iOS' })
  await must(call, 'PUT', `/v4/integrations/${id}/config`, { settings })
  for (let n = 0; n <= LIMIT; n++) for (const value of [1, 0] as const) expect((await status(value, id)).status).toBe(200)
  const { rows } = await api.pool.query('select cardinality(tested_at) as tests from integrations where id = $1', [id])
  expect(rows).toEqual([{ tests: 0 }])
})

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { POLICIES } from '../../workflows/engine/policy.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, post, sandbox } from '../harness/integrations.ts'
import { ENDLESS, HANG, HANG_UP } from '../harness/receiver.ts'

const LIMIT_MS = 4_000

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true, policies: { ...POLICIES, delivery: { ...POLICIES.delivery, attemptLimitMs: LIMIT_MS } } })
  call = sandbox(api)
})
afterAll(() => api.stop())
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

const last = async () => (await made.deliveries()).at(-1)
const retried = async () => {
  await made.become('retrying')
  return (await last()).attempts[0]
}

test('a receiver that hangs up is tried again', async () => {
  made = await hook({ call })
  made.receiver.script = [HANG_UP]
  await post(call, {})
  expect(await retried()).toMatchObject({ http_status: null, error: 'connection_failed', response: null })
  await advance(call, 'PT2M')
  await made.become('delivered')
})

test('a redirect is a failure, and is not followed', async () => {
  made = await hook({ call })
  const requested: string[] = []
  const inside = createServer((request, response) => {
    requested.push(request.url!)
    response.end()
  })
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve))
  const location = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`
  made.receiver.script = [{ status: 307, location }]
  await post(call, {})
  expect(await retried()).toMatchObject({ http_status: 307, error: 'http_307' })
  expect(requested).toEqual([])
  inside.close()
})

test('of an endless answer only its beginning is read, and it counts as taken', async () => {
  made = await hook({ call })
  made.receiver.script = [ENDLESS]
  await post(call, {})
  await made.become('delivered')
  expect((await last()).attempts[0].response).toHaveLength(1024)
})

test('one that never answers fails when its time is over, and holds up nobody else', async () => {
  made = await hook({ call })
  const other = await hook({ call })
  made.receiver.script = [HANG]
  await post(call, {})
  await other.become('delivered')
  const attempt = await retried()
  expect(attempt).toMatchObject({ http_status: null, error: 'timeout' })
  expect(attempt.duration_ms).toBeGreaterThanOrEqual(LIMIT_MS - 10)
  await call('DELETE', `/v4/integrations/${other.id}`)
  await other.receiver.close()
})

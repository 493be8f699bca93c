import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { must } from '../harness/integrations.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

// One host of webhooks with two paths: requests to /slow hang until the test lets them end.
let api: TestApi
let port: number
const hanging = new Set<ServerResponse>()
const host = createServer((request, response) => {
  request.resume()
  if (request.url === '/slow') {
    hanging.add(response)
    response.on('close', () => hanging.delete(response))
  } else response.end('ok')
})
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 30_000 })
  await new Promise<void>(resolve => host.listen(0, '127.0.0.1', resolve))
  port = (host.address() as AddressInfo).port
})
afterAll(async () => {
  host.closeAllConnections()
  await api.stop()
  await new Promise(resolve => host.close(resolve))
})

const caller =
  ({ secret }: TestProjectKeys) =>
  (method: string, path: string, body?: unknown) =>
    must((requested, at, options) => api.call(requested, at, { ...options, key: secret }), method, path, body)

/** An active webhook to a path of the host. */
async function hookTo(project: TestProjectKeys, path: string): Promise<string> {
  const settings = { url: `http://127.0.0.1:${port}${path}` }
  const id = await storedIntegration(api.pool, project.production, {
    slug: 'webhooks',
    active: 0,
    settings: { url: `http://127.0.0.1:${port}/` },
  })
  await caller(project)('POST', `/v4/integrations/${id}/status`, { status: 1 })
  await api.pool.query('update integrations set settings = $2 where id = $1', [id, JSON.stringify(settings)])
  return id
}
const post = (project: TestProjectKeys, users: number) =>
  caller(project)('POST', '/v4/events', {
    events: Array.from({ length: users }, (_, n) => item({ identity_id: `user-${n}` })),
    trigger: 'always',
  })

test('a path that hangs holds up no delivery of another project to the same host, and no attempt fails unsent', async () => {
  for (let n = 0; n < 3; n++) await hookTo(api.project, '/slow')
  await post(api.project, 60)
  await until('the requests of A hang', () => hanging.size >= 64 || undefined)

  const other = await api.newProject()
  const hook = await hookTo(other, '/quick')
  await post(other, 5)
  const ended = await until('the deliveries of B have ended', async () => {
    const { data } = await caller(other)('GET', `/v4/integrations/${hook}/deliveries`)
    return data.length === 5 && data.every((one: { status: string }) => one.status !== 'pending') ? data : undefined
  })
  for (const { status, attempts } of ended)
    expect([status, attempts.map((one: { error: unknown }) => one.error)]).toEqual(['delivered', [null]])
  expect(hanging.size).toBeGreaterThan(64)
})

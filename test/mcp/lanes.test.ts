// Both revisions of the protocol from one handler, with the official clients.
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'
import { call, connected } from '../harness/mcp.ts'

let api: TestApi
let grant: TestGrant
beforeAll(async () => {
  api = await startApi()
  grant = await newGrant(api, api.project)
})
afterAll(() => api.stop())

describe.each(['auto', 'legacy'] as const)('the client in mode %s', mode => {
  test('connects, lists the tools and calls them', async () => {
    const client = await connected(api.url, grant.token, { mode })
    expect(client.getServerVersion()).toMatchObject({ name: 'perennial' })
    expect(client.getInstructions()).toContain('production')
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(150)
    const made = await call(client, 'create_entitlement', { id: `gold-${mode}`, description: 'Gold' })
    expect(made).toMatchObject({ isError: false, content: { status: 201, result: { object: 'entitlement', id: `gold-${mode}` } } })
    expect(made.content.location).toBe(`/v4/entitlements/gold-${mode}`)
    const list = await call(client, 'list_entitlements', { limit: 1 })
    expect(list.content.result).toMatchObject({ object: 'list', url: '/v4/entitlements' })
    expect(JSON.parse(list.texts[0]!)).toEqual(list.content)
    await client.close()
  })
})

test('the client of the former package connects and calls', async () => {
  const client = new EarlierClient({ name: 'test', version: '1' })
  const requestInit = { headers: { Authorization: `Bearer ${grant.token}` } }
  await client.connect(new EarlierTransport(new URL(`${api.url}/mcp`), { requestInit }) as never)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('list_events')
  const answer = await client.callTool({ name: 'list_products', arguments: {} })
  expect(answer.structuredContent).toMatchObject({ status: 200, result: { object: 'list', data: [] } })
  await client.close()
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 't', version: '1' } },
}
const post = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', '/mcp', { key: grant.token, raw: JSON.stringify(body), headers: { Accept: 'application/json', ...headers } })

test('initialize answers the version asked for, else the newest, and issues no session', async () => {
  const known = await post(INITIALIZE)
  expect([known.status, known.body.result.protocolVersion, known.headers.get('mcp-session-id')]).toEqual([200, '2025-03-26', null])
  expect(known.headers.get('content-type')).toContain('application/json')
  const unknown = await post({ ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2001-01-01' } })
  expect(unknown.body.result.protocolVersion).toBe('2025-11-25')
})

test('a client that accepts streams only gets one', async () => {
  const answer = await post(INITIALIZE, { Accept: 'text/event-stream' })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(answer.text).toContain('"protocolVersion":"2025-03-26"')
})

test('a batch of the earlier revision is answered message by message', async () => {
  const messages = [1, 2].map(id => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'get_ledger', arguments: {} } }))
  const { status, body } = await post(messages)
  expect([status, body.map((one: { id: number }) => one.id).sort()]).toEqual([200, [1, 2]])
})

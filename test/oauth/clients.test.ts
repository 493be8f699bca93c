// The official clients sign in by themselves: the one of the former package, and the current one that asks its operator.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { call, connected } from '../harness/mcp.ts'
import { clientMemory, connectedClient, consent, post, signedInOperator } from '../harness/oauth.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

/** An earlier client that signs in where it has to. */
function earlier() {
  const { kept, provider } = clientMemory()
  const connect = async () => {
    const client = new Client({ name: 'Earlier client', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { authProvider: provider as never })
    return { client, transport, connecting: client.connect(transport as never) }
  }
  return { kept, connect }
}

test('the client of the former package finds, registers, is allowed, lists, calls, refreshes by itself, and is ended', async () => {
  const { kept, connect } = earlier()
  const first = await connect()
  await expect(first.connecting).rejects.toThrow(UnauthorizedError)
  expect(kept.client).toMatchObject({ client_id: expect.stringMatching(/^oac_/), token_endpoint_auth_method: 'none' })
  const asked = kept.url as URL
  expect(Object.fromEntries(asked.searchParams)).toMatchObject({
    code_challenge_method: 'S256',
    resource: `${api.url}/mcp`,
    state: 'state of the client',
  })

  const { browser } = await signedInOperator(api, api.project)
  const { page, query } = await consent(browser, asked.pathname + asked.search)
  expect(page.text).toContain('Official client')
  await first.transport.finishAuth(query.get('code')!)
  expect(kept.tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600 })

  const { client, connecting } = await connect()
  await connecting
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['list_events', 'delete_entitlement']))
  const created = await client.callTool({ name: 'create_entitlement', arguments: { id: 'premium', description: 'Premium' } })
  expect(created.structuredContent).toMatchObject({ status: 201, result: { id: 'premium' } })

  const before = kept.tokens
  await api.pool.query(`update mcp_tokens set expires_at = clock_timestamp() where kind = 'access'`)
  const listed = await client.callTool({ name: 'list_entitlements', arguments: {} })
  expect(listed.structuredContent).toMatchObject({ status: 200, result: { data: [{ id: 'premium' }] } })
  expect([kept.tokens.access_token === before.access_token, kept.tokens.refresh_token === before.refresh_token]).toEqual([false, false])

  const ended = await post(api.url, '/oauth/revoke', { token: kept.tokens.access_token, client_id: kept.client.client_id })
  expect(ended.status).toBe(200)
  await expect(client.callTool({ name: 'list_entitlements', arguments: {} })).rejects.toThrow(/invalid_grant|Unauthorized|refresh token/i)
  const { rows } = await api.pool.query('select ended_at is not null as has_ended from mcp_grants')
  expect(rows).toEqual([{ has_ended: true }])
})

test('the current client asks its operator before it deletes, with a token that the operator has allowed', async () => {
  const { tokens, operator } = await connectedClient(api)
  const client = await connected(api.url, tokens.access_token, { capabilities: { elicitation: { form: {} } } })
  const questions: string[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params.message)
    return { action: 'accept', content: { confirm_id: 'gold', reason: 'no longer sold' } } as never
  })
  expect(await call(client, 'create_entitlement', { id: 'gold', description: 'Gold' })).toMatchObject({ content: { status: 201 } })
  expect(await call(client, 'delete_entitlement', { entitlement_id: 'gold' })).toMatchObject({ isError: false, content: { status: 204 } })
  expect(questions).toEqual([expect.stringContaining('"gold" in the production environment')])
  expect((await call(client, 'get_entitlement', { entitlement_id: 'gold' })).error).toMatchObject({ status: 404 })
  const { rows } = await api.pool.query(`select operator, reason, outcome from mcp_calls where tool = 'delete_entitlement' order by id`)
  expect(rows.at(-1)).toEqual({ operator: operator.id, reason: 'no longer sold', outcome: 'done' })
})

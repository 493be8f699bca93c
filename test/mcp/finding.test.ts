// Three tools in place of all, resources and prompts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CATALOGUE } from '../../domain/events/catalogue.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'
import { call, connected } from '../harness/mcp.ts'

let api: TestApi
let token: string
beforeAll(async () => {
  api = await startApi()
  token = (await newGrant(api, api.project)).token
})
afterAll(() => api.stop())

describe('?tools=find', () => {
  const finding = (key = token, more = '') => connected(api.url, key, { query: `?tools=find${more}` })

  test('lists three small tools', async () => {
    const { tools } = await (await finding()).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['find_operations', 'describe_operation', 'call_operation'])
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(4_000)
  })

  test('finds, describes and calls what the token may call', async () => {
    const client = await finding()
    const found = (await call(client, 'find_operations', { words: 'create entitlement' })).content.result.operations
    expect(found).toContainEqual({ name: 'create_entitlement', title: 'Create an entitlement' })
    const { content } = await call(client, 'describe_operation', { name: 'create_entitlement' })
    expect(Object.keys(content.result.arguments.properties)).toContain('description')
    const made = await call(client, 'call_operation', { name: 'create_entitlement', arguments: { id: 'gold', description: 'Gold' } })
    expect(made.content).toMatchObject({ status: 201, result: { id: 'gold' } })
    expect((await call(client, 'create_entitlement', { id: 'other', description: 'Other' })).error.status).toBe(400)
    expect((await call(client, 'call_operation', { name: 'nothing' })).error.status).toBe(400)
  })

  test('refuses words and names that are no text', async () => {
    const client = await finding()
    for (const odd of [{ toString: 1 }, 5, null]) {
      expect((await call(client, 'find_operations', { words: odd })).error).toMatchObject({ status: 400, error: { code: 'invalid_data' } })
      expect((await call(client, 'call_operation', { name: odd })).error).toMatchObject({ status: 400, error: { code: 'invalid_data' } })
    }
  })

  test('confirms as the operation does', async () => {
    const client = await finding()
    const args = { entitlement_id: 'gold' }
    const { confirmation } = (await call(client, 'call_operation', { name: 'delete_entitlement', arguments: args })).content
    const more = { confirmation_token: confirmation.token, confirm_id: 'gold', reason: 'not sold any more' }
    const done = await call(client, 'call_operation', { name: 'delete_entitlement', arguments: { ...args, ...more } })
    expect(done.content.status).toBe(204)
  })

  test('has the scopes of the operation', async () => {
    const few = await newGrant(api, api.project, { scopes: ['products:read'] })
    const client = await finding(few.token)
    const found = (await call(client, 'find_operations')).content.result.operations
    expect(found.map(({ name }: { name: string }) => name)).toEqual(['list_products', 'list_unmapped_products', 'get_product'])
    const raw = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'call_operation', arguments: { name: 'list_events' } } }
    const refused = await api.call('POST', '/mcp?tools=find', { key: few.token, raw: JSON.stringify(raw) })
    expect([refused.status, refused.body.error.code]).toEqual([403, 'insufficient_scope'])
    expect((await call(await finding(token, '&read_only=true'), 'call_operation', { name: 'create_entitlement' })).error.status).toBe(400)
  })
})

test('resources are the reference, the catalogue of events and the language of segments', async () => {
  const client = await connected(api.url, token)
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toEqual([
    'perennial://reference',
    'perennial://events/catalogue',
    'perennial://segments/language',
  ])
  const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { text: string; mimeType: string }
  expect((await read('perennial://reference')).text).toContain('`GET /v4/events`')
  const catalogue = JSON.parse((await read('perennial://events/catalogue')).text)
  expect(catalogue.map(({ slug }: { slug: string }) => slug)).toEqual(CATALOGUE.map(({ slug }) => slug))
  const language = (await read('perennial://segments/language')).text
  for (const word of ['subscription_state', 'planned_product_id', 'not_contains']) expect(language).toContain(word)
  await expect(read('perennial://other')).rejects.toThrow()
})

test('prompts ask for what they need, and name tools that exist', async () => {
  const client = await connected(api.url, token)
  const { prompts } = await client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(['why_did_mrr_move', 'which_reports_were_late', 'why_no_message'])
  const names = new Set((await client.listTools()).tools.map(({ name }) => name))
  for (const { name, arguments: needed = [] } of prompts) {
    const given = Object.fromEntries(needed.map(one => [one.name, 'value']))
    const { messages } = await client.getPrompt({ name, arguments: given })
    const { text } = messages[0]!.content as { text: string }
    for (const [tool] of text.matchAll(/\b(?:get|list)_[a-z_]+/g)) expect([tool, names.has(tool)]).toEqual([tool, true])
    await expect(client.getPrompt({ name, arguments: {} })).rejects.toThrow('missing')
  }
})

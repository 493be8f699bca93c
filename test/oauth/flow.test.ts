// An assistant connects as its makers' clients do it: discovery, registration, consent in a browser, tokens, calls, refresh, end.
import { auth } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepRevealed } from '../../domain/operators/grants/reveals.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { connected } from '../harness/mcp.ts'
import { clientMemory, connectedClient, consent, post, signedInOperator } from '../harness/oauth.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('the official client registers, is allowed, lists and calls tools, refreshes, and is ended', async () => {
  const { kept, provider } = clientMemory()
  const serverUrl = `${api.url}/mcp`
  expect(await auth(provider, { serverUrl, scope: 'entitlements:read entitlements:write' })).toBe('REDIRECT')
  const { browser } = await signedInOperator(api, api.project)
  const path = kept.url.pathname + kept.url.search
  expect(kept.url.searchParams.get('resource')).toBe(serverUrl)
  const { page, query } = await consent(browser, path)
  expect(page.text).toContain('Official client')
  expect(page.text).toMatch(/value="sandbox" checked/)
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:4567;")
  expect([query.get('state'), query.get('iss')]).toEqual(['state of the client', api.url])

  const done = { serverUrl, authorizationCode: query.get('code')!, iss: query.get('iss')! }
  expect(await auth(provider, done)).toBe('AUTHORIZED')
  expect(kept.tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'entitlements:read entitlements:write' })
  const client = await connected(api.url, kept.tokens.access_token)
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('list_entitlements')
  expect(names).not.toContain('list_events')
  const created = await client.callTool({ name: 'create_entitlement', arguments: { id: 'premium', description: 'Premium' } })
  expect(created.structuredContent).toMatchObject({ status: 201 })

  const before = kept.tokens.access_token
  expect(await auth(provider, { serverUrl })).toBe('AUTHORIZED')
  expect(kept.tokens.access_token).not.toBe(before)
  await connected(api.url, kept.tokens.access_token)

  const ended = await post(api.url, '/oauth/revoke', { token: kept.tokens.refresh_token, client_id: kept.client.client_id })
  expect(ended.status).toBe(200)
  await expect(connected(api.url, kept.tokens.access_token)).rejects.toThrow()
})

test('nobody is signed in: the consent page comes after the sign-in', async () => {
  const { kept, provider } = clientMemory()
  await auth(provider, { serverUrl: `${api.url}/mcp` })
  const path = kept.url.pathname + kept.url.search
  const answer = await fetch(api.url + path, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `/sign-in?next=${encodeURIComponent(path)}`])
})

test('deny is told to the client', async () => {
  const { kept, provider } = clientMemory()
  await auth(provider, { serverUrl: `${api.url}/mcp` })
  const { browser } = await signedInOperator(api, api.project)
  const { query } = await consent(browser, kept.url.pathname + kept.url.search, { decision: 'deny' })
  expect([query.get('error'), query.get('code'), query.get('iss')]).toEqual(['access_denied', null, api.url])
})

test('boxes that the role does not cover are greyed out, and are not granted when they are sent', async () => {
  const { kept, provider } = clientMemory()
  await auth(provider, { serverUrl: `${api.url}/mcp` })
  const { browser } = await signedInOperator(api, api.project, 'viewer')
  const path = kept.url.pathname + kept.url.search
  const page = await browser.open(path)
  expect(page.text).toMatch(/value="customers:write" disabled/)
  const fields = { project: String(api.project.id), environment: 'sandbox', decision: 'allow', scope: 'customers:write' }
  expect(await browser.send(path, fields)).toMatchObject({ status: 422, location: null })
})

test('at first only reading is ticked; one button ticks the rest, and allows nothing', async () => {
  const { kept, provider } = clientMemory()
  await auth(provider, { serverUrl: `${api.url}/mcp`, scope: 'events:read events:write project_settings:write' })
  const { browser } = await signedInOperator(api, api.project, 'editor')
  const path = kept.url.pathname + kept.url.search
  const boxes = (text: string) =>
    [...text.matchAll(/name="scope" value="([^"]+)"( \w+)?/g)].map(([, scope, state]) => `${scope}${state ?? ''}`)
  expect(boxes((await browser.open(path)).text)).toEqual(['events:read checked', 'events:write', 'project_settings:write disabled'])
  const project = String(api.project.id)
  const ticked = await browser.send(path, { project, environment: 'production', tools: 'find', decision: 'tick' })
  expect([ticked.status, ticked.location]).toEqual([200, null])
  expect(boxes(ticked.text)).toEqual(['events:read checked', 'events:write checked', 'project_settings:write disabled'])
  expect(ticked.text).toMatch(/value="production" checked[\s\S]*value="find" checked/)
  expect(ticked.text).not.toContain('value="tick"')
})

test('the operator chooses that the assistant finds its tools', async () => {
  const { kept, provider } = clientMemory()
  await auth(provider, { serverUrl: `${api.url}/mcp` })
  const { browser } = await signedInOperator(api, api.project)
  const { query } = await consent(browser, kept.url.pathname + kept.url.search, { tools: 'find' })
  await auth(provider, { serverUrl: `${api.url}/mcp`, authorizationCode: query.get('code')!, iss: query.get('iss')! })
  const client = await connected(api.url, kept.tokens.access_token)
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['find_operations', 'describe_operation', 'call_operation'])
})

test('a new secret is shown once, to the operator who has confirmed it, who is still there and has a role in the project', async () => {
  const { operator, browser } = await signedInOperator(api, api.project)
  const other = await signedInOperator(api, api.project)
  const made = () =>
    transaction(api.pool, tx => keepRevealed(tx, api.secrets, { operator: operator.id, project: api.project.id }, 'sk_new'))
  const path = `/oauth/secrets/${await made()}`
  await other.browser.open('/console/account')
  expect((await other.browser.send(path, {})).status).toBe(404)
  expect((await other.browser.open(path)).status).toBe(404)
  await browser.open(path)
  await api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [
    operator.id,
  ])
  const again = `/sign-in/again?next=${encodeURIComponent(path)}`
  expect([(await browser.open(path)).location, (await browser.send(path, {})).location]).toEqual([again, again])
  await browser.open(again)
  expect((await browser.send('/sign-in/again', { next: path, password: operator.password })).location).toBe(path)
  await browser.open(path)
  expect((await browser.send(path, {})).text).toContain('sk_new')
  expect([(await browser.open(path)).status, (await browser.send(path, {})).status]).toEqual([404, 404])
  const second = `/oauth/secrets/${await made()}`
  await api.pool.query('delete from operator_roles where operator = $1', [operator.id])
  expect((await browser.open(second)).status).toBe(404)
})

test('operators see what they have allowed, and end it; nobody sees or ends what others have', async () => {
  const { operator, browser, tokens } = await connectedClient(api)
  const other = await signedInOperator(api, api.project)
  const page = await browser.open('/console/account/assistants')
  expect(page.text).toMatch(/Assistant[\s\S]*production: reads, and changes things with \d+ scopes[\s\S]*never used/)
  const grant = /name="grant" value="(\w+)"/.exec(page.text)![1]!
  expect((await other.browser.open('/console/account/assistants')).text).not.toContain(grant)
  await other.browser.open('/console/account')
  await other.browser.send('/console/account/assistants', { grant })
  await connected(api.url, tokens.access_token)
  expect((await browser.send('/console/account/assistants', { grant })).location).toBe('/console/account/assistants?done=ended')
  await expect(connected(api.url, tokens.access_token)).rejects.toThrow()
  const { body } = await api.call('GET', `/v4/audit-log?filter[resource_id]=${grant}&filter[actor][]=operator`)
  expect(body.data).toMatchObject([{ operation: 'end grant', actor: { kind: 'operator', id: operator.email } }])
})

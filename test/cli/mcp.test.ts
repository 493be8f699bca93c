import { afterAll, beforeAll, expect, test } from 'vitest'
import { mcp } from '../../cli/mcp.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { newGrant } from '../harness/grants.ts'
import { connected, call as tool } from '../harness/mcp.ts'
import { register } from '../harness/oauth.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ada', SUDO_USER: '' }
})
afterAll(() => api.stop())

const run = (...args: string[]) => call(mcp, args, env)

test('calls are listed newest first, and a grant is ended at once', async () => {
  expect((await run('calls')).out).toContain('No assistant has changed anything.')
  expect((await run('grants')).out).toContain('There are no grants.')
  const { id, token } = await newGrant(api, api.project)
  const client = await connected(api.url, token)
  await tool(client, 'create_entitlement', { id: 'gold', description: 'Gold' })
  await tool(client, 'create_entitlement', { id: 'gold', description: 'Gold' })
  const { code, out } = await run('calls', '--project', String(api.project.id))
  expect(code).toBe(0)
  expect(out).toMatch(/refused \(409\)[\s\S]*done \(201\)/)
  expect(JSON.parse((await run('calls', '--limit', '1', '--json')).out)).toMatchObject([{ tool: 'create_entitlement', status: 409 }])
  expect((await run('grants')).out).toContain(id)
  expect((await run('end', id)).out).toContain(`Grant ${id} opens nothing any more.`)
  await expect(client.listTools()).rejects.toThrow()
  expect((await run('end', id)).code).toBe(1)
  expect((await run('calls', '--limit', '0')).code).not.toBe(0)
  const { body } = await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)
  expect(body.data).toMatchObject([{ operation: 'mcp end', resource: 'grant', actor: { kind: 'cli', id: 'ada' } }])
})

test('a client is removed with all of its grants, each with an entry of the audit log', async () => {
  const { client_id: clientId } = (await register(api.url)).body
  const grants = [await newGrant(api, api.project, { clientId }), await newGrant(api, api.project, { clientId, sandbox: true })]
  const other = await newGrant(api, api.project)
  expect(JSON.parse((await run('clients', '--json')).out)).toMatchObject([{ id: clientId, name: 'Assistant', grants: 2 }])
  expect((await run('end-client', clientId)).out).toContain('The client is removed, and 2 grants have ended.')
  expect((await run('clients')).out).toContain('No client has registered itself.')
  for (const { token } of grants) await expect(connected(api.url, token)).rejects.toThrow()
  expect((await (await connected(api.url, other.token)).listTools()).tools).not.toHaveLength(0)
  for (const { id } of grants) {
    const { body } = await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)
    expect(body.data).toMatchObject([{ operation: 'mcp end-client', resource: 'grant', actor: { kind: 'cli', id: 'ada' } }])
  }
  expect((await run('end-client', clientId)).code).toBe(1)
})

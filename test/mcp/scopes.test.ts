// Each operation × the scopes of a token × the role of its operator. What must come out is computed from the list of all operations and from the
// tables that docs/assistants.md has, not from the scopes that the service has generated.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGrant } from '../../domain/operators/grants/grant.ts'
import { issueTokens } from '../../domain/operators/grants/tokens.ts'
import type { ListedTool } from '../../schemas/tool.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, operatorIn } from '../harness/grants.ts'
import { SANDBOX_ONLY } from '../harness/operation-requests.ts'

type Row = Record<'operationId' | 'method' | 'path' | 'tag', string>
const rows: Row[] = parse(readFileSync(join(import.meta.dirname, '../contract/operations.csv')), { columns: true })

/** Operations that read although they are sent by POST. */
const READS = ['v4BacktestAutomation', 'v4PreviewSegment']
const toolOf = (id: string) => id.slice(2).replace(/[A-Z]/g, (letter, at) => (at === 0 ? '' : '_') + letter.toLowerCase())
const operations = rows
  .filter(({ operationId }) => operationId.startsWith('v4'))
  .map(({ operationId: id, method, path, tag }) => {
    const access = method === 'GET' || READS.includes(id) ? 'read' : 'write'
    return { id, tool: toolOf(id), path, scope: `${tag.toLowerCase().replaceAll(' ', '_')}:${access}` }
  })
type Operation = (typeof operations)[number]
const SCOPES = [...new Set(operations.map(({ scope }) => scope))].sort()

/** What a role does not cover. An owner of the installation has no role in the project and covers everything. */
const UNCOVERED = {
  viewer: SCOPES.filter(scope => scope.endsWith(':write') || scope === 'project_settings:read'),
  editor: ['customers:write', 'project_settings:write'],
  admin: [],
  owner: [],
} satisfies Record<string, string[]>
type Role = keyof typeof UNCOVERED
const ROLES = Object.keys(UNCOVERED) as Role[]

let api: TestApi
const operatorWith = new Map<Role, string>()
const properties = new Map<string, string[]>()
beforeAll(async () => {
  api = await startApi()
  for (const role of ROLES) operatorWith.set(role, await operatorIn(api, api.project, role === 'owner' ? null : role))
  await api.pool.query('update operators set is_owner = true where id = $1', [operatorWith.get('owner')])
  const { token } = await newGrant(api, api.project)
  for (const { name, inputSchema } of (await message(token, 'tools/list')).body.result.tools as ListedTool[])
    properties.set(name, Object.keys(inputSchema.properties as object))
})
afterAll(() => api.stop())

const message = (key: string, method: string, params: object = {}, query = '') =>
  api.call('POST', `/mcp${query}`, { key, raw: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })

/** A token of the operator; of a grant of its own, so that no limit of calls is reached. */
const tokenOf = (role: Role, scopes: readonly string[]): Promise<string> =>
  transaction(api.pool, async tx => {
    const { id: project, production: environment } = api.project
    const client = { operator: operatorWith.get(role)!, clientId: 'client', clientName: 'Assistant', project, environment }
    const grant = await createGrant(tx, { ...client, scopes: SCOPES, findsTools: false })
    return (await issueTokens(tx, grant, scopes))!.accessToken
  })

/** Arguments that the operation refuses, after it was decided who may call it. */
function refused({ tool, path }: Operation): object {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, '!'])
  const known = properties.get(tool)!
  return Object.fromEntries([
    ...named,
    ...(known.includes('limit') ? [['limit', {}]] : []),
    ...(known.includes('dry_run') ? [['dry_run', true]] : []),
  ])
}

type Call = (operation: Operation) => { name: string; arguments: object; query?: string }
const directly: Call = operation => ({ name: operation.tool, arguments: refused(operation) })
const byName: Call = operation => ({ name: 'call_operation', arguments: directly(operation), query: '?tools=find' })

/** Calls the tool: the scope that was missing, or null when the operation was reached. */
async function missing(key: string, operation: Operation, call: Call): Promise<string | null> {
  const { query, ...params } = call(operation)
  const { status, body, headers } = await message(key, 'tools/call', params, query)
  if (status === 403 && body.error.code === 'insufficient_scope')
    return /scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? ''
  expect([operation.id, status]).toEqual([operation.id, 200])
  const answer = body.result.structuredContent ?? JSON.parse(body.result.content[0].text)
  // In production these are refused, when the scope was seen.
  const isElsewhere = SANDBOX_ONLY.includes(operation.id) && /sandbox only/.test(answer.error?.message)
  expect([operation.id, answer.status === 403, answer]).toEqual([operation.id, isElsewhere, answer])
  return null
}

const isOpen = (role: Role, scopes: readonly string[], { scope }: Operation) =>
  scopes.includes(scope) && !(UNCOVERED[role] as string[]).includes(scope)

/** Calls the operations with such scopes. */
async function checkCalls(role: Role, scopes: readonly string[], called: readonly Operation[], call = directly): Promise<void> {
  const key = await tokenOf(role, scopes)
  for (const operation of called)
    expect([operation.id, await missing(key, operation, call)]).toEqual([
      operation.id,
      isOpen(role, scopes, operation) ? null : operation.scope,
    ])
}

/** Lists the tools with such scopes. */
async function checkList(role: Role, scopes: readonly string[]): Promise<void> {
  const { tools } = (await message(await tokenOf(role, scopes), 'tools/list')).body.result
  const names = operations.filter(operation => isOpen(role, scopes, operation)).map(({ tool }) => tool)
  expect(tools.map(({ name }: ListedTool) => name).sort()).toEqual(names.sort())
}

/** A grant makes 120 calls a minute. */
const parts = [operations.slice(0, 100), operations.slice(100)]

test('there are so many operations that each part is within the limit of calls', () => {
  expect(parts.every(part => part.length > 0 && part.length < 120)).toBe(true)
})

const needing = (scope: string) => operations.filter(operation => operation.scope === scope)
const without = (scope: string) => SCOPES.filter(one => one !== scope)

describe.each(ROLES)('a grant of %s calls what its role covers', role => {
  test('with no scope: nothing', async () => {
    await Promise.all([checkList(role, []), ...parts.map(part => checkCalls(role, [], part))])
  })

  test('with all scopes', async () => {
    await Promise.all([checkList(role, SCOPES), ...parts.map(part => checkCalls(role, SCOPES, part))])
  })

  test('with one scope: its operations', async () => {
    await Promise.all(SCOPES.flatMap(scope => [checkList(role, [scope]), checkCalls(role, [scope], needing(scope))]))
  })

  test('with all scopes but one: not its operations', async () => {
    await Promise.all(SCOPES.map(scope => checkCalls(role, without(scope), needing(scope))))
  })
})

test('an operation that is called by its name needs the same scope', async () => {
  for (const part of parts) await Promise.all([checkCalls('viewer', [], part, byName), checkCalls('viewer', SCOPES, part, byName)])
})

test('a batch is refused when one of its calls lacks the scope', async () => {
  const key = await tokenOf('admin', ['products:read'])
  const messages = ['list_products', 'list_events'].map((name, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  }))
  expect((await api.call('POST', '/mcp', { key, raw: JSON.stringify(messages) })).status).toBe(403)
})

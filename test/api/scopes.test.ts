// Each operation × what a named key may: nothing of the resource, just the scope, the other access to the resource, another resource.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions, SCOPES } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, exampleOf, operations, pathParameters } from '../harness/described.ts'
import { namedKey } from '../harness/named-keys.ts'
import { operationRequests, type Request, SANDBOX_ONLY } from '../harness/operation-requests.ts'

const factsOf = new Map(descriptions.map(description => [description.id as string, description]))
const scopeOf = ({ id }: Described) => factsOf.get(id)!.scope

/** POST operations that change nothing. */
const READS = ['v4BacktestAutomation', 'v4PreviewSegment']
const SECRET_KEY_ONLY = ['v4RegenerateProjectSecret']

/** Scopes of the other access and of the other resources. */
const others = (scope: string) => SCOPES.filter(one => one !== scope)

/** What is refused after it was decided who may call the operation; of one without parameters and body all of it. */
const faulty = (operation: Described) => ({
  path: Object.fromEntries(pathParameters(operation).map(name => [name, '!'])),
  query: { '?': 1 },
  ...(operation.body && { body: 1 }),
})

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

/** A valid request of the Secret Key in a project of its own, and a named key of the same environment. */
async function requestOf(operation: Described, scopes: readonly string[]) {
  const project = await api.newProject()
  const sandbox = SANDBOX_ONLY.includes(operation.id)
  const home = operationRequests(api, sandbox ? project.sandbox : project.secret)
  const request = await home.example(operation)
  const { key } = await namedKey(api, project, scopes, { sandbox })
  return { request, home, key, send: (one: Request) => operationRequests({ ...api }, key).send(operation, one) }
}

test('the scope of an operation is its tag with read for GET and with write for all others', () => {
  for (const operation of operations) {
    const access = operation.method === 'GET' || READS.includes(operation.id) ? 'read' : 'write'
    expect([operation.id, scopeOf(operation)]).toEqual([operation.id, `${operation.tag.toLowerCase().replaceAll(' ', '_')}:${access}`])
  }
  expect(SCOPES).toEqual([...new Set(operations.map(scopeOf))].sort())
  expect(descriptions.filter(({ secretKeyOnly }) => secretKeyOnly).map(({ id }) => id)).toEqual(SECRET_KEY_ONLY)
})

describe.concurrent('a named key', () => {
  const isOpen = ({ id, auth }: Described) => auth === 'secret' && !SECRET_KEY_ONLY.includes(id)

  test.for(operations.filter(isOpen))('with its scope alone calls $id', async operation => {
    // A key has the scopes that it gives.
    const given = operation.id === 'v4CreateApiKey' ? (exampleOf(operation).scopes as string[]) : []
    const { request, send } = await requestOf(operation, [scopeOf(operation), ...given])
    const answer = await send(request)
    expect([answer.status, answer.text]).toEqual([operation.success, answer.text])
  })

  test.for(operations)('with all scopes but one does not call $id, and changes nothing', async operation => {
    const scope = scopeOf(operation)
    const { request, home, send } = await requestOf(operation, others(scope))
    const answer = await send(request)
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
    expect(answer.body.error.message).toContain(scope)
    // Nothing of the request was read, and what it names is still there for the Secret Key.
    expect((await send(faulty(operation))).status).toBe(403)
    if (operation.auth === 'secret') expect((await home.send(operation, request)).status).toBe(operation.success)
  })

  const isChange = (operation: Described) => scopeOf(operation).endsWith(':write')
  const readOf = (operation: Described) => scopeOf(operation).replace(':write', ':read')
  const readable: readonly string[] = SCOPES
  test.for(
    operations.filter(operation => isChange(operation) && readable.includes(readOf(operation))),
  )('that only reads the resource does not call $id', async operation => {
    const { request, send } = await requestOf(operation, [readOf(operation)])
    const answer = await send(request)
    expect([answer.status, answer.body.error.message]).toEqual([403, expect.stringContaining(scopeOf(operation))])
  })

  test.for(operations.filter(({ id }) => SECRET_KEY_ONLY.includes(id)))('with all scopes does not call $id', async operation => {
    const { request, send, home } = await requestOf(operation, SCOPES)
    const answer = await send(request)
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
    expect((await home.send(operation, request)).status).toBe(operation.success)
  })

  test.for(operations.filter(({ id }) => SANDBOX_ONLY.includes(id)))('of production does not call $id', async operation => {
    const { key } = await namedKey(api, await api.newProject(), SCOPES)
    const answer = await operationRequests({ ...api }, key).send(operation, { path: {}, query: {} })
    expect([answer.status, answer.body.error.message]).toEqual([403, expect.stringContaining('sandbox')])
  })
})

test('a named key of no scope calls nothing, and one of all scopes whatever is open to keys', async () => {
  const project = await api.newProject()
  const [nothing, everything] = await Promise.all([[], SCOPES].map(async scopes => (await namedKey(api, project, scopes)).key))
  for (const operation of operations) {
    const { id, auth } = operation
    const isClosed = auth !== 'secret' || [...SECRET_KEY_ONLY, ...SANDBOX_ONLY].includes(id)
    const status = async (key: string) => (await operationRequests({ ...api }, key).send(operation, faulty(operation))).status
    expect([id, await status(nothing!), (await status(everything!)) === 403]).toEqual([id, 403, isClosed])
  }
})

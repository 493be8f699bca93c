// Every operation of the description: with another project's key, without a user, and with input that no client sends on purpose.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Document, follow, type Media, methods, type Parameter, type Schema } from '../../schemas/generate/schema.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

const document: Document = JSON.parse(readFileSync(new URL('../../schemas/generated/v3/openapi.json', import.meta.url), 'utf8'))
const schemaOf = (schema: Schema) => follow(document, schema as Schema & { $ref: string })
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap(method => {
    const operation = item[method]
    if (!operation) return []
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(p => follow<Parameter>(document, p))
    const schema = (operation.requestBody as Media | undefined)?.content?.['application/json']?.schema
    return [{ id: operation.operationId, method: method.toUpperCase(), path, parameters, body: schema && schemaOf(schema).example }]
  }),
)

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  expect((await v3('POST', '/v3/users/home')).status).toBe(201)
})
afterAll(() => api.stop())

/** The path with `user` for the user and `other` for everything else. */
function addressOf({ path, parameters }: (typeof operations)[number], user: string, other: string): string {
  const isUser = (name: string) => name === 'user_id' || (name === 'id' && path.startsWith('/v3/users/{id}'))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => (isUser(name) ? user : other))
  const queried = parameters.filter(one => one.in === 'query' && one.required)
  const query = queried.map(({ name }) => `${name}=${isUser(name) ? user : other}`).join('&')
  return query ? `${filled}?${query}` : filled
}

/** Operations on a user that must exist. */
const onUser = operations.filter(
  ({ id, path, parameters }) =>
    id !== 'v3CreateUser' && (path.startsWith('/v3/users/{') || parameters.some(({ name }) => name === 'user_id')),
)

describe.each(onUser)('$id', operation => {
  test('knows no user of another project', async () => {
    const other = await api.newProject()
    for (const [key, user] of [
      [other.secret, 'home'],
      [`test_${other.secret}`, 'home'],
      [api.project.secret, 'nobody'],
    ] as const) {
      const answer = await v3(operation.method, addressOf(operation, user, 'x'), {
        key,
        ...(operation.body !== undefined && { body: operation.body }),
      })
      expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
    }
  })
})

const NASTY = ['%20', '%00', '%2F', '%2e%2e', "'%3B--", '%F0%9F%98%80', '$1', '__proto__', 'x'.repeat(1000)]
const BODIES = [
  'null',
  '[]',
  '{}',
  '[null]',
  '0',
  '"x"',
  '{"__proto__":{"a":1}}',
  '{"environment":[]}',
  '[[]]',
  '{"a":1,"a":2}',
  '{',
  '\u00a0',
]

describe.each(operations)('$id', operation => {
  test('answers strange input in its own shapes', async () => {
    const key = api.project.secret
    for (const value of NASTY) {
      const address = addressOf(operation, value, value)
      const { status } = await v3(operation.method, address, { key, ...(operation.body !== undefined && { body: operation.body }) })
      expect([address, status >= 500]).toEqual([address, false])
    }
    if (operation.body === undefined) return
    for (const raw of BODIES) {
      const { status } = await v3(operation.method, addressOf(operation, 'home', 'x'), { key, raw })
      expect([raw, status >= 500]).toEqual([raw, false])
    }
  })
})

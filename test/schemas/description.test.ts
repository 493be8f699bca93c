// What must hold of every operation, whichever file it stands in.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ERROR_CATALOGUE } from '../../api/errors.ts'
import { details } from '../../schemas/details.ts'
import { formats } from '../../schemas/formats.ts'
import { bundle } from '../../schemas/generate/bundle.ts'
import { withDryRunAnswers, withDryRuns } from '../../schemas/generate/dry-run.ts'
import { type Document, follow, methods, type OperationObject, type Parameter, type Schema } from '../../schemas/generate/schema.ts'
import { withScopes } from '../../schemas/generate/scopes.ts'

type Response = { headers: Record<string, unknown>; content?: { 'application/json': { schema: Schema } } }

const folder = join(import.meta.dirname, '../../schemas')
const document: Document = withDryRuns(bundle(folder))
const rows = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap(method => {
    const operation = item[method]
    if (!operation) return []
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(p => follow<Parameter>(document, p))
    return [{ id: operation.operationId, method, path, operation, parameters }]
  }),
)
const response = (operation: OperationObject, status: string) => follow(document, operation.responses[status]!) as Response
const successOf = (operation: OperationObject) => Object.keys(operation.responses).find(status => status.startsWith('2'))!

const objects = (schema: unknown, found: Schema[] = []): Schema[] => {
  if (typeof schema !== 'object' || schema === null) return found
  if ('type' in schema && schema.type === 'object') found.push(schema as Schema)
  for (const [key, child] of Object.entries(schema)) if (key !== 'example' && key !== 'enum') objects(child, found)
  return found
}

/** Pages by offset, as documented, and by cursor where the request has a filter or a cursor. */
const IN_BOTH_WAYS = 'v4ListEvents'

describe.each(rows)('$id', ({ id, method, path, operation, parameters }) => {
  const v3 = path.startsWith('/v3/')
  const success = successOf(operation)

  test('is named, told and filed', () => {
    expect(id).toMatch(v3 ? /^v3[A-Z][a-z]+[A-Z]/ : /^v4([A-Z][a-z]+[A-Z]|Search$)/)
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
    expect(operation.description!.length).toBeGreaterThan(40)
    expect(operation.tags).toHaveLength(1)
    expect(document.tags.map(tag => tag.name)).toContain(operation.tags[0])
    for (const parameter of parameters) expect(parameter, parameter.name).toHaveProperty('example')
  })

  if (!v3)
    test('describes all its answers', () => {
      const statuses = ['400', '401', '429', '502', '504', 'default']
      if (path.includes('{')) statuses.push('404')
      if (operation['x-idempotency-key']) statuses.push('409')
      for (const status of statuses) expect(Object.keys(operation.responses)).toContain(status)
      for (const status of Object.keys(operation.responses).filter(status => status !== success))
        expect(response(operation, status).content?.['application/json'].schema, status).toEqual({ $ref: '#/components/schemas/Error' })
    })

  if (!v3)
    test('names the headers of its success', () => {
      const headers = Object.keys(response(operation, success).headers)
      const expected = ['X-Request-Id', 'Cache-Control', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
      if (success === '201') expected.push('Location')
      if (operation['x-idempotency-key']) expected.push('Idempotency-Replayed')
      if (operation['x-pagination'] === 'cursor') expected.push('X-Qon-Pagination-Restarted')
      expect(headers).toEqual(expect.arrayContaining(expected))
    })

  if (!v3)
    test('takes the parameters its marks promise', () => {
      const names = parameters.map(parameter => parameter.name)
      expect(typeof operation['x-idempotency-key']).toBe('boolean')
      expect(names.includes('Idempotency-Key')).toBe(operation['x-idempotency-key'])
      expect(names.includes('Dry-Run')).toBe(method !== 'get' && operation['x-scope-access'] !== 'read')
      expect(['none', 'cursor', 'offset']).toContain(operation['x-pagination'])
      expect(names.includes('starting_after')).toBe(operation['x-pagination'] === 'cursor' || id === IN_BOTH_WAYS)
      expect(names.includes('offset')).toBe(operation['x-pagination'] === 'offset')
      for (const [, name] of path.matchAll(/\{(\w+)\}/g)) expect(names).toContain(name)
    })

  test('has a body only where one is looked at', () => {
    if (method === 'get' || method === 'delete') expect(operation.requestBody).toBeUndefined()
    else if (operation.requestBody) expect(operation.requestBody.content?.['application/json']?.schema).toBeDefined()
  })

  if (success !== '204' && !v3)
    test('has a cursor in the answer just where it pages by it', () => {
      const answer = follow(document, response(operation, success).content!['application/json'].schema)
      expect('next_cursor' in (answer.properties ?? {})).toBe(operation['x-pagination'] === 'cursor' || id === IN_BOTH_WAYS)
      expect(answer.required ?? []).not.toContain('next_cursor')
    })
})

test('ids of operations are unique', () => {
  expect(new Set(rows.map(row => row.id)).size).toBe(rows.length)
})

test('no object is open, except maps with typed values', () => {
  for (const schema of objects([document.components, document.paths])) {
    const open = schema.additionalProperties === undefined || schema.additionalProperties === true
    expect(open, JSON.stringify(schema).slice(0, 200)).toBe(false)
  }
})

test('`object` has one value, and answers require it', () => {
  // A change, and a use, tell the kind of another object.
  const { DryRunChange: _, UsedBy: __, ...schemas } = document.components.schemas
  for (const schema of objects(schemas)) {
    const word = schema.properties?.object
    if (!word) continue
    expect(follow(document, word).enum).toHaveLength(1)
    expect(schema.required).toContain('object')
  }
})

const patterns = (schema: unknown, found: Schema[] = []): Schema[] => {
  if (typeof schema !== 'object' || schema === null) return found
  if ('pattern' in schema && typeof schema.pattern === 'string') found.push(schema as Schema)
  for (const child of Object.values(schema)) patterns(child, found)
  return found
}

test('every pattern has a hint with examples that match it, and without a regular expression', () => {
  const all = patterns([document.components, document.paths])
  expect(all.length).toBeGreaterThan(100)
  for (const { pattern, 'x-hint': hint } of all as { pattern: string; 'x-hint'?: string }[]) {
    expect(hint, pattern).toMatch(/ such as \S/)
    expect(hint, pattern).not.toMatch(/[[\]\\^$]|\.$/)
    for (const example of hint!.split(' such as ')[1]!.split(' or ')) expect(example, hint).toMatch(new RegExp(pattern))
  }
})

test('every format of the description has a message with an example', () => {
  const found = JSON.stringify([document.components, document.paths]).matchAll(/"format":"([^"]+)"/g)
  const described = new Set(
    [...found].map(([, format]) => format!).filter(format => !['csv', 'json', 'ndjson', 'parquet'].includes(format)),
  )
  for (const format of described) {
    const error = { instancePath: '/a', schemaPath: '', keyword: 'format', params: { format } }
    const [line] = details([error], 'body', {})
    const example = / such as (\S+)$/.exec(line?.message ?? '')?.[1]
    expect(formats[format as keyof typeof formats](example ?? ''), format).toBe(true)
  }
})

test('the table of codes has every code of the catalogue, by status', () => {
  const { code } = (document.components.schemas.ErrorBody as Schema).properties!
  const table = [...(code as { description: string }).description.matchAll(/^\| (\d+) \| (.*) \|$/gm)]
  const described = table.flatMap(([, status, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => `${status} ${name}`))
  const catalogue = Object.entries(ERROR_CATALOGUE).map(([name, [status]]) => `${status} ${name}`)
  expect(described).toEqual(expect.arrayContaining(catalogue))
  // The transport answers a path without a route with 404.
  const others = described.filter(row => !catalogue.includes(row))
  expect(others).toEqual(['404 invalid_request'])
})

test('every component is used', () => {
  const text = JSON.stringify(withDryRunAnswers(document))
  for (const [kind, members] of Object.entries(document.components))
    for (const name of Object.keys(members))
      expect(kind === 'securitySchemes' || text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name}`).toBe(true)
})

test('every operation with a dry run describes its answer, beside its own', () => {
  const described = withDryRunAnswers(document)
  for (const { path, method, operation } of rows) {
    const served = described.paths[path]![method as 'post']!
    const ok = response(served, '200')?.content?.['application/json'].schema
    const isTold = ok !== undefined && JSON.stringify(ok).includes('"#/components/schemas/DryRun"')
    expect([operation.operationId, isTold]).toEqual([operation.operationId, ['rollback', 'plan'].includes(operation['x-dry-run'] ?? '')])
    const own = successOf(operation)
    if (own !== '200') expect(served.responses[own]).toEqual(operation.responses[own])
  }
})

test('the served document is OpenAPI 3.0.3, version 4.0', () => {
  const served = JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8'))
  expect(served).toEqual(JSON.parse(JSON.stringify(withDryRunAnswers(withScopes(document)))))
  expect(served.openapi).toBe('3.0.3')
  expect(served.info.version).toBe('4.0')
})

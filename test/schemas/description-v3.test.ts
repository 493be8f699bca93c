// What must hold of every operation of v3, whichever file it stands in.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { V3_CATALOGUE } from '../../api/v3/errors.ts'
import { bundle } from '../../schemas/generate/bundle.ts'
import { type Document, follow, type Media, methods, type Schema } from '../../schemas/generate/schema.ts'

const folder = join(import.meta.dirname, '../../schemas')
const document: Document = bundle(join(folder, 'v3'))
const rows = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap(method => {
    const operation = item[method]
    return operation ? [{ id: operation.operationId, method, path, operation }] : []
  }),
)

describe.each(rows)('$id', ({ id, method, path, operation }) => {
  test('is named, told and filed', () => {
    expect(id).toMatch(/^v3[A-Z][a-z]+[A-Z]/)
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
    expect(operation.description!.length).toBeGreaterThan(20)
    expect(operation.tags).toHaveLength(1)
    expect(document.tags.map(tag => tag.name)).toContain(operation.tags[0])
  })

  test('describes all its answers', () => {
    const { responses } = operation
    const takesInput = path.includes('{') || operation.requestBody
    const statuses = ['401', '429', '502', '504', 'default', ...(takesInput ? ['400'] : [])]
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses))
    for (const [status, response] of Object.entries(responses))
      if (!status.startsWith('2'))
        expect(follow<Media>(document, response).content?.['application/json']?.schema, status).toEqual({
          $ref: '#/components/schemas/Error',
        })
    expect('403' in responses).toBe(operation.security !== undefined)
  })

  test('has a body only where one is looked at', () => {
    if (method !== 'post') expect(operation.requestBody).toBeUndefined()
  })
})

const schemasIn = (value: unknown, found: Schema[] = []): Schema[] => {
  if (typeof value !== 'object' || value === null) return found
  if ('type' in value && typeof value.type === 'string') found.push(value as Schema)
  for (const [key, child] of Object.entries(value)) if (key !== 'example' && key !== 'enum') schemasIn(child, found)
  return found
}

test('nothing is null', () => {
  for (const schema of schemasIn([document.components, document.paths])) expect(schema).not.toHaveProperty('nullable')
})

test('the codes are those of the catalogue', () => {
  const { code } = (document.components.schemas.ErrorBody as Schema).properties!
  expect(code!.enum).toEqual(Object.keys(V3_CATALOGUE))
})

test('the served document is OpenAPI 3.0.3, version 3.0', () => {
  const served = JSON.parse(readFileSync(join(folder, 'generated/v3/openapi.json'), 'utf8'))
  expect(served).toEqual(JSON.parse(JSON.stringify(document)))
  expect([served.openapi, served.info.version]).toEqual(['3.0.3', '3.0'])
})

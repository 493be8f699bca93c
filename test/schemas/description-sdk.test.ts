// What must hold of every operation of the mobile SDKs, whichever file it stands in.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SDK_CATALOGUE } from '../../api/sdk/errors.ts'
import { bundle } from '../../schemas/generate/bundle.ts'
import { type Document, follow, type Media, methods, type Schema } from '../../schemas/generate/schema.ts'

const folder = join(import.meta.dirname, '../../schemas')
const document: Document = bundle(join(folder, 'sdk'))
const rows = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap(method => {
    const operation = item[method]
    return operation ? [{ id: operation.operationId, path, operation }] : []
  }),
)

describe.each(rows)('$id', ({ id, path, operation }) => {
  test('is named, told and filed', () => {
    expect(id).toMatch(/^sdk[A-Z][a-z]+[A-Z]/)
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
    expect(operation.description!.length).toBeGreaterThan(20)
    expect(operation.tags).toHaveLength(1)
    expect(document.tags.map(tag => tag.name)).toContain(operation.tags[0])
  })

  test('describes all its answers, errors in the shape that SDKs read at the address', () => {
    const { responses } = operation
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '400', '401', '429', '502', '504', 'default']))
    const shape = path.startsWith('/v2/') ? 'V2Error' : 'V1Error'
    for (const [status, response] of Object.entries(responses))
      if (status !== '200')
        expect(follow<Media>(document, response).content?.['application/json']?.schema, status).toEqual({
          $ref: `#/components/schemas/${shape}`,
        })
    // It would end the session of the SDK.
    expect(responses).not.toHaveProperty('403')
  })
})

test('nothing is null', () => {
  expect(JSON.stringify(document)).not.toContain('"nullable"')
})

test('the codes are those of the catalogue', () => {
  const { code } = (document.components.schemas.Failed as Schema).properties!
  expect(code!.enum).toEqual(Object.values(SDK_CATALOGUE).map(([number]) => number))
})

test('the served document is the described one', () => {
  const served = JSON.parse(readFileSync(join(folder, 'generated/sdk/openapi.json'), 'utf8'))
  expect(served).toEqual(JSON.parse(JSON.stringify(document)))
})

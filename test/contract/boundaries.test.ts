// Every limit of the description: a value at the limit, and one just past it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, operations } from '../harness/described.ts'
import { sampled } from '../harness/effort.ts'
import { projectFor } from '../harness/operation-project.ts'
import type { OperationRequests, Request } from '../harness/operation-requests.ts'
import { MENDED } from './arbitrary.ts'
import { type Boundary, boundaries } from './boundaries.ts'
import { unexplained } from './business.ts'
import { fault, fieldsOf } from './oracle.ts'
import { textBoundaries } from './texts.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

/** Whether one of the fields is the faulty one, contains it, or is part of it. */
const names = (fields: string[], at: string) => fields.some(field => field === 'body' || field.startsWith(at) || at.startsWith(field))

type Case = { boundary: Boundary; request: Request }

/** The violations of one case: a value past its limit must be refused on its field, a value at its limit must not. */
async function violations(operation: Described, caller: OperationRequests, { boundary, request }: Case): Promise<string[]> {
  const { at, valid, whole } = boundary
  const answer = await caller.send(operation, request)
  const isRefused = answer.status === 400 && answer.body.error.code === 'invalid_data' && names(fieldsOf(answer), at)
  const wrong = [fault(operation, answer), ...(valid ? unexplained(operation, answer) : [])].filter(reason => reason !== null)
  if (!valid && !isRefused) wrong.push(`not refused on its field: ${answer.status} ${answer.text.slice(0, 300)}`)
  return wrong.map(reason => `${at} ${valid ? 'at' : 'past'} its limit, ${JSON.stringify(whole)?.slice(0, 200)}: ${reason}`)
}

async function allViolations(operation: Described, casesOf: (good: Request) => Case[]): Promise<string[]> {
  const { requests: caller, rows } = await projectFor(api, operation)
  const found: string[] = []
  const all = casesOf(await caller.example(operation))
  const first = sampled([...all.keys()]).map(n => ({ n, ...all[n]! }))
  const before = await rows()
  for (const bad of first.filter(({ boundary }) => !boundary.valid)) found.push(...(await violations(operation, caller, bad)))
  if (found.length === 0) expect(await rows(), 'what was refused has changed nothing').toEqual(before)
  for (const { n, boundary } of first) {
    // A successful request uses up its ids and its target: each case gets new ones.
    if (boundary.valid) found.push(...(await violations(operation, caller, casesOf(await caller.example(operation))[n]!)))
  }
  return found
}

/** A value past a limit is sent unchanged: the schema refuses it before any other rule. */
const mended = ({ id }: Described, { valid, whole }: Boundary) =>
  (valid && typeof whole === 'object' && whole !== null && MENDED[id]?.(whole as Record<string, unknown>)) || whole

const isSent = (location: string) => (operation: Described) => operation.parameters.some(parameter => parameter.in === location)

describe.concurrent('limits', () => {
  test.for(operations.filter(operation => operation.body))('of the body of $id', async operation => {
    const cases = (good: Request) =>
      boundaries(operation.body!, good.body).map(boundary => ({ boundary, request: { ...good, body: mended(operation, boundary) } }))
    expect(await allViolations(operation, cases)).toEqual([])
  })

  test.for(operations.filter(isSent('query')))('of the query of $id', async operation => {
    const cases = (good: Request) =>
      textBoundaries(operation, 'query').map(boundary => ({
        boundary,
        request: { ...good, query: { ...good.query, [boundary.at.replace(/\[\d+\]$/, '')]: boundary.whole } },
      }))
    expect(await allViolations(operation, cases)).toEqual([])
  })

  test.for(operations.filter(isSent('path')))('of the path of $id', async operation => {
    const cases = (good: Request) =>
      textBoundaries(operation, 'path').map(boundary => ({
        boundary,
        request: { ...good, path: { ...good.path, [boundary.at]: String(boundary.whole) } },
      }))
    expect(await allViolations(operation, cases)).toEqual([])
  })
})

test.for(sampled(operations))('$id refuses an unknown query parameter, and a parameter that is sent twice', async operation => {
  const { requests: caller } = await projectFor(api, operation)
  const good = await caller.example(operation)
  const scalars = operation.parameters.filter(parameter => parameter.in === 'query' && parameter.schema.type !== 'array')
  for (const [name, value] of [['no_such_parameter', '1'], ...scalars.map(({ name, example }) => [name, [example, example]])]) {
    const answer = await caller.send(operation, { ...good, query: { ...good.query, [name as string]: value } })
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [name]])
  }
})

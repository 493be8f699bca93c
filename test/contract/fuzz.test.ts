// For any input: a documented response, never a 5xx, and never a success for input that the description does not allow.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { allOperations, type Described, operations, pathParameters } from '../harness/described.ts'
import { requestsIn } from '../harness/operation-requests.ts'
import { bodyChanges, RAW, search, segment } from './nasty.ts'
import { fault } from './oracle.ts'
import { runs } from './seed.ts'

const RUNS = { body: 25, query: 12, path: 8 }

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const allows = ({ id }: Described, body: unknown) => descriptions.find(row => row.id === id)!.validate.body!(structuredClone(body)) === true

/** Throws the fault of a response; `bad`: the request must not succeed. */
function check(operation: Described, answer: Awaited<ReturnType<TestApi['call']>>, bad = false): void {
  const wrong = fault(operation, answer) ?? (bad && answer.status < 300 ? `succeeded: ${answer.text.slice(0, 300)}` : null)
  if (wrong !== null) throw new Error(wrong)
}

describe.concurrent('invalid input', () => {
  test.for(operations.filter(operation => operation.body))('in the body of $id gets a documented response', async operation => {
    const caller = await requestsIn(api, operation)
    let good = await caller.example(operation)
    await fc.assert(
      fc.asyncProperty(bodyChanges, async changes => {
        const body = changes.apply(good.body)
        const answer = await caller.send(operation, { ...good, body })
        check(operation, answer, body === undefined || !allows(operation, JSON.parse(JSON.stringify(body))))
        // A successful request uses up its ids and its target.
        if (answer.status < 300) good = await caller.example(operation)
      }),
      runs(RUNS.body),
    )
  })

  test.for(operations.filter(operation => operation.body))('instead of the body of $id gets a documented response', async operation => {
    const caller = await requestsIn(api, operation)
    const { path } = await caller.example(operation)
    for (const { raw, type = 'application/json' } of RAW) {
      const answer = await caller.raw(operation, { path }, { raw, headers: { 'Content-Type': type } })
      check(operation, answer)
    }
  })

  test.for(operations)('in the query of $id gets a documented response', async operation => {
    const caller = await requestsIn(api, operation)
    const good = await caller.example(operation)
    const known = operation.parameters.filter(parameter => parameter.in === 'query').map(parameter => parameter.name)
    await fc.assert(
      fc.asyncProperty(search(known), async text => {
        check(operation, await caller.raw(operation, { path: good.path, search: text }, { body: good.body }))
      }),
      runs(RUNS.query),
    )
  })

  test.for(
    operations.filter(operation => operation.path.includes('{')),
  )('in the path of $id gets a documented response', async operation => {
    const caller = await requestsIn(api, operation)
    const good = await caller.example(operation)
    const names = pathParameters(operation)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), segment, async (name, text) => {
        check(operation, await caller.raw(operation, { path: good.path, segments: { [name]: text } }, { body: good.body }))
      }),
      runs(RUNS.path),
    )
  })
})

test('the served description is the one that these tests use', async () => {
  const { body } = await api.call('GET', '/v4/openapi.json', { key: null })
  expect(Object.keys(body.paths)).toEqual([...new Set(allOperations.map(operation => operation.path))])
})

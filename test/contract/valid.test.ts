// Valid requests about existing resources.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, operations } from '../harness/described.ts'
import { type OperationRequests, type Request, requestsIn } from '../harness/operation-requests.ts'
import { requests } from './arbitrary.ts'
import { unexplained } from './business.ts'
import { fault } from './oracle.ts'
import { runs } from './seed.ts'

const RUNS = 12

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

async function filledRequest(caller: OperationRequests, operation: Described, { query, body }: Omit<Request, 'path'>): Promise<Request> {
  const path = await caller.path(operation)
  const fill = async (value: unknown) => caller.fill(value, path, false)
  return { path, query: (await fill(query)) as Request['query'], ...(body !== undefined && { body: await fill(body) }) }
}

/** Whether the request has any part that varies. */
const isVaried = ({ body, parameters }: Described) => body !== null || parameters.some(parameter => parameter.in === 'query')

describe.concurrent('a request of the description', () => {
  test.for(operations)('with the example of $id succeeds', async operation => {
    const caller = await requestsIn(api, operation)
    const answer = await caller.send(operation, await caller.example(operation))
    expect([answer.status, answer.text]).toEqual([operation.success, answer.text])
    expect(fault(operation, answer)).toBeNull()
  })

  test.for(operations.filter(isVaried))('that is valid for the schemas of $id is accepted', operation =>
    fc.assert(
      fc.asyncProperty(requests(operation), async generated => {
        const caller = await requestsIn(api, operation)
        const request = await filledRequest(caller, operation, generated)
        const answer = await caller.send(operation, request)
        const wrong = [fault(operation, answer), ...unexplained(operation, answer)].filter(reason => reason !== null)
        if (answer.status === 404) wrong.push('something that exists was not found')
        if (wrong.length > 0) throw new Error(`${wrong.join('; ')}; sent ${JSON.stringify(request)}; ${answer.text.slice(0, 300)}`)
      }),
      runs(RUNS),
    ))
})

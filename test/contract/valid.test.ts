// Requests that agree with the description, about things that exist.
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

async function placed(world: OperationRequests, operation: Described, { query, body }: Omit<Request, 'path'>): Promise<Request> {
  const path = await world.path(operation)
  const filled = async (value: unknown) => world.fill(value, path, false)
  return { path, query: (await filled(query)) as Request['query'], ...(body !== undefined && { body: await filled(body) }) }
}

/** Whether there is anything to vary. */
const isVaried = ({ body, parameters }: Described) => body !== null || parameters.some(parameter => parameter.in === 'query')

describe.concurrent('a request of the description', () => {
  test.for(operations)('as in the example of $id succeeds', async operation => {
    const world = await requestsIn(api, operation)
    const answer = await world.send(operation, await world.example(operation))
    expect([answer.status, answer.text]).toEqual([operation.success, answer.text])
    expect(fault(operation, answer)).toBeNull()
  })

  test.for(operations.filter(isVaried))('that the schemas of $id allow is taken', operation =>
    fc.assert(
      fc.asyncProperty(requests(operation), async made => {
        const world = await requestsIn(api, operation)
        const request = await placed(world, operation, made)
        const answer = await world.send(operation, request)
        const wrong = [fault(operation, answer), ...unexplained(operation, answer)].filter(reason => reason !== null)
        if (answer.status === 404) wrong.push('something that exists was not found')
        if (wrong.length > 0) throw new Error(`${wrong.join('; ')}; sent ${JSON.stringify(request)}; ${answer.text.slice(0, 300)}`)
      }),
      runs(RUNS),
    ))
})

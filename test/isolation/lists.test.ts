// Lists and figures contain nothing of another environment, even when the query names one of its ids.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, isOfProject, resourceParameters, type Schema, whole } from '../harness/described.ts'
import { cases, expectUntouched, fullHome, guestOf, isForbidden, leaks } from './fixture.ts'

let api: TestApi
let home: Awaited<ReturnType<typeof fullHome>>
beforeAll(async () => {
  api = await startApi()
  home = await fullHome(
    api,
    reads.map(({ operation }) => operation),
  )
})
afterAll(() => api.stop())

const takesAnyText = ({ type, enum: words, format }: Schema) => type === 'string' && !words && !format

/** Query parameters that can have an id. */
const namingParameters = ({ parameters }: Described) =>
  parameters.filter(({ in: location, schema }) => location === 'query' && takesAnyText(whole(schema))).map(parameter => parameter.name)

// Of Apple Ads without an integration of its own, a guest gets 404; its own tests have two environments.
const reads = cases.filter(
  ({ operation }) => operation.method === 'GET' && resourceParameters(operation).length === 0 && !operation.path.includes('/apple-ads/'),
)

describe.concurrent('a resource of the home', () => {
  test.for(reads)('is not in the response of $id with the key of $other', async ({ operation, other }) => {
    const guest = await guestOf(api, operation, home, other)
    const request = home.requests[operation.id]!
    const known = await home.caller.send(operation, request)
    const answer = await guest.send(operation, request)
    expect(answer.status).toBe(isForbidden(operation, other) ? 403 : operation.success)
    expect(leaks(home, answer, {})).toEqual([])

    const listed: { id?: string }[] = Array.isArray(known.body?.data) ? known.body.data : []
    const names = [...listed.flatMap(({ id }) => id ?? []).slice(0, 2), ...home.before.ids.slice(0, 2)]
    for (const name of namingParameters(operation))
      for (const id of names) {
        const found = await guest.send(operation, { ...request, query: { ...request.query, [name]: id } })
        expect(isForbidden(operation, other) ? [403] : [200, 400]).toContain(found.status)
        expect(leaks(home, found, id)).toEqual([])
        if (found.status === 200) expect(found.text).not.toContain(`"${id}"`)
        if (found.status === 200 && name === 'starting_after') expect(found.headers.get('x-qon-pagination-restarted')).toBe('true')
      }
  })

  test.for(
    reads.filter(({ operation, other }) => other === 'another project' && !isOfProject(operation)),
  )('is in the response of $id with its own key', async ({ operation }) => {
    const answer = await home.caller.send(operation, home.requests[operation.id]!)
    if (Array.isArray(answer.body.data)) expect(answer.body.data).not.toEqual([])
  })
})

test('the home is unchanged', () => expectUntouched(api, home))

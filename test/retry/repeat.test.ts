// PUT, PATCH and DELETE can be repeated: the second request has the same result and changes nothing.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { operations, whole } from '../harness/described.ts'
import { projectFor } from '../harness/operation-project.ts'

/** Operations that remove a relation and not an item: the second request succeeds, too. */
const DETACHES = ['v4DetachUserFromRemoteConfiguration', 'v4DetachUserFromExperiment']

/** The window of a saved view ends now. */
const timeless = (text: string) => text.replace(/"window":\{[^}]*\}/, '"window":{}')

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

describe.concurrent('a repeated request', () => {
  test.for(
    operations.filter(({ method }) => method === 'PUT' || method === 'PATCH'),
  )('$id has the same response and changes nothing', async operation => {
    const { requests: caller, rows } = await projectFor(api, operation)
    const request = await caller.example(operation)
    const empty = await rows()
    const first = await caller.send(operation, request)
    expect([first.status, first.text]).toEqual([operation.success, first.text])
    const after = await rows()
    expect(after, 'the first changed something').not.toEqual(empty)
    const second = await caller.send(operation, request)
    expect([second.status, timeless(second.text)]).toEqual([first.status, timeless(first.text)])
    expect(await rows()).toEqual(after)
  })

  test.for(operations.filter(({ method }) => method === 'DELETE'))('$id removes once', async operation => {
    const { requests: caller, rows } = await projectFor(api, operation)
    const request = await caller.example(operation)
    const full = await rows()
    expect((await caller.send(operation, request)).status).toBe(204)
    const after = await rows()
    expect(after, 'the first changed something').not.toEqual(full)
    expect((await caller.send(operation, request)).status).toBe(DETACHES.includes(operation.id) ? 204 : 404)
    expect(await rows()).toEqual(after)
  })
})

const hasOptionalBody = operations.filter(({ method, body }) => method === 'PATCH' && body && !whole(body).required?.length)

test.for(hasOptionalBody)('$id with {} changes nothing', async operation => {
  const { requests: caller, rows } = await projectFor(api, operation)
  const request = { ...(await caller.example(operation)), body: {} }
  const before = await rows()
  expect((await caller.send(operation, request)).status).toBe(200)
  expect(await rows()).toEqual(before)
})

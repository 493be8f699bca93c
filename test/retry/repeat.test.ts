// PUT, PATCH and DELETE may be sent again: the same end state, and nothing changes the second time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { operations, whole } from '../harness/described.ts'
import { projectFor } from '../harness/operation-project.ts'

/** What removes a relation and not an item: there is nothing to be missed the second time. */
const DETACHES = ['v4DetachUserFromRemoteConfiguration', 'v4DetachUserFromExperiment']

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

describe.concurrent('twice the same', () => {
  test.for(
    operations.filter(({ method }) => method === 'PUT' || method === 'PATCH'),
  )('$id answers the same and changes nothing', async operation => {
    const { requests: world, rows } = await projectFor(api, operation)
    const request = await world.example(operation)
    const empty = await rows()
    const first = await world.send(operation, request)
    expect([first.status, first.text]).toEqual([operation.success, first.text])
    const after = await rows()
    expect(after, 'the first changed something').not.toEqual(empty)
    const second = await world.send(operation, request)
    expect([second.status, second.text]).toEqual([first.status, first.text])
    expect(await rows()).toEqual(after)
  })

  test.for(operations.filter(({ method }) => method === 'DELETE'))('$id removes once', async operation => {
    const { requests: world, rows } = await projectFor(api, operation)
    const request = await world.example(operation)
    const full = await rows()
    expect((await world.send(operation, request)).status).toBe(204)
    const after = await rows()
    expect(after, 'the first changed something').not.toEqual(full)
    expect((await world.send(operation, request)).status).toBe(DETACHES.includes(operation.id) ? 204 : 404)
    expect(await rows()).toEqual(after)
  })
})

const hasOptionalBody = operations.filter(({ method, body }) => method === 'PATCH' && body && !whole(body).required?.length)

test.for(hasOptionalBody)('$id with {} changes nothing', async operation => {
  const { requests: world, rows } = await projectFor(api, operation)
  const request = { ...(await world.example(operation)), body: {} }
  const before = await rows()
  expect((await world.send(operation, request)).status).toBe(200)
  expect(await rows()).toEqual(before)
})

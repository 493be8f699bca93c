// A resource of one environment does not exist for any other key. Each operation is called with the ids of a project's production, with
// another project's key and with the sandbox key of the same project.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, exampleOf, isOfProject, pathParameters, resourceParameters } from '../harness/described.ts'
import { namesSomething } from '../harness/operation-requests.ts'
import { cases, expectUntouched, guestOf, homeOf, isForbidden, leaks } from './fixture.ts'

/** Operations that refuse the body before they read the path, when both refer to the home. */
const REFUSES_BODY_FIRST: Record<string, [number, string]> = { v4CreatePurchase: [400, 'product_not_in_project'] }

const SAME_KEY = { 'Idempotency-Key': 'of each environment alone' }

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const hasItem = (operation: Described) => resourceParameters(operation).length > 0
const isNaming = (operation: Described) => operation.body !== null && namesSomething(exampleOf(operation))

describe.concurrent('an item of another environment', () => {
  test.for(cases.filter(({ operation }) => hasItem(operation)))('is not found by $id with the key of $other', async ({
    operation,
    other,
  }) => {
    const { request, ...home } = await homeOf(api, operation)
    const guest = await guestOf(api, operation, home, other)
    const answer = await guest.send(operation, request)
    expect([answer.status, answer.body?.error?.code]).toEqual(REFUSES_BODY_FIRST[operation.id] ?? [404, 'not_found'])
    expect(leaks(home, answer, request)).toEqual([])

    // The same when only one id is of the home and all others are the guest's own.
    for (const name of pathParameters(operation)) {
      const own = await guest.path(operation)
      const body = operation.body && { body: await guest.fill(request.body, own, false) }
      const mixed = { ...request, path: { ...own, [name]: request.path[name]! }, ...body }
      expect([name, (await guest.send(operation, mixed)).status]).toEqual([name, 404])
    }
    await expectUntouched(api, home)
  })
})

describe.concurrent('a creation', () => {
  const isCreation = (operation: Described) => operation.method !== 'GET' && !hasItem(operation) && !isOfProject(operation)
  const creations = cases.filter(({ operation }) => isCreation(operation))

  test.for(
    creations.filter(({ operation }) => isNaming(operation)),
  )('by $id with the key of $other cannot refer to a resource of the home', async ({ operation, other }) => {
    const { request, ...home } = await homeOf(api, operation)
    const answer = await (await guestOf(api, operation, home, other)).send(operation, request)
    expect([400, 404]).toContain(answer.status)
    expect(leaks(home, answer, request)).toEqual([])
    await expectUntouched(api, home)
  })

  test.for(creations)('by $id with the key of $other can use the same ids', async ({ operation, other }) => {
    const { request, ...home } = await homeOf(api, operation)
    const guest = await guestOf(api, operation, home, other)
    const own = { ...request, body: await guest.fill(request.body, {}, false) }
    const answer = await guest.send(operation, own, SAME_KEY)
    expect([answer.status, answer.text]).toEqual([isForbidden(operation, other) ? 403 : operation.success, answer.text])
    expect(leaks(home, answer, own)).toEqual([])
    await expectUntouched(api, home)
    // The ids and the key that the guest has used are still free in the home.
    const later = await home.caller.send(operation, request, SAME_KEY)
    expect([later.status, later.text]).toEqual([operation.success, later.text])
    expect(later.headers.get('idempotency-replayed')).toBeNull()
  })
})

describe.concurrent('a project', () => {
  const isChange = (operation: Described) => isOfProject(operation) && operation.method !== 'GET'
  test.for(cases.filter(({ operation }) => isChange(operation)))('is changed by $id with its own keys only: $other', async ({
    operation,
    other,
  }) => {
    const { request, ...home } = await homeOf(api, operation)
    const guest = await guestOf(api, operation, home, other)
    expect((await guest.send(operation, request)).status).toBe(operation.success)
    await expectUntouched(api, home, other === 'another project')
  })
})

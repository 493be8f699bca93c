// What belongs to one environment does not exist for any other key: every operation, with the ids of a project's production, called
// with another project's key and with the sandbox key of the same project.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, exampleOf, operations, pathParameters } from '../harness/described.ts'
import { idsOf, projectRowsOf, type Rows, rowsOf } from '../harness/rows.ts'
import { namesSomething, type Request, SANDBOX_ONLY, type World, world } from '../harness/world.ts'

/** The project's own operations: the same under both of its keys, and nothing in them belongs to an environment. */
const isOfProject = ({ tag }: Described) => tag === 'Project Settings'

/** What is refused before the path is looked at, when body and path are of home both. */
const LOOKS_AT_BODY_FIRST: Record<string, [number, string]> = { v4CreatePurchase: [400, 'product_not_in_project'] }

const others = ['another project', 'the other environment'] as const
const cases = operations.flatMap(operation => others.map(other => ({ operation, other, id: operation.id })))

type Scene = {
  home: World
  environment: number
  project: number
  guest: World
  /** What was there before the guest came. */
  before: { rows: Rows; project: Rows; ids: string[] }
}

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const keys = ({ secret, sandbox, production, sandboxEnvironment }: TestProjectKeys, inSandbox: boolean) =>
  inSandbox ? { own: sandbox, other: secret, environment: sandboxEnvironment } : { own: secret, other: sandbox, environment: production }

/** Things of the operation at home, and a guest who has nothing. */
async function scene(operation: Described, other: (typeof others)[number]): Promise<Scene & { request: Request }> {
  const [mine, theirs] = [await api.newProject(), await api.newProject()]
  const inSandbox = SANDBOX_ONLY.includes(operation.id)
  const { own, other: twin, environment } = keys(mine, inSandbox)
  const home = world(api, own)
  const guest = world(api, other === 'another project' ? keys(theirs, inSandbox).own : twin)
  const request = await home.example(operation)
  await home.send(operation, await home.example(operation))
  const before = {
    rows: await rowsOf(api.pool, environment),
    project: await projectRowsOf(api.pool, mine.id),
    ids: await idsOf(api.pool, environment),
  }
  return { home, guest, environment, project: mine.id, request, before }
}

async function expectUntouched({ environment, project, before }: Scene, ofProject = true): Promise<void> {
  expect(await rowsOf(api.pool, environment)).toEqual(before.rows)
  if (ofProject) expect(await projectRowsOf(api.pool, project)).toEqual(before.project)
}

/** Ids of home in an answer, except those that the guest has sent. */
const leaks = ({ before }: Scene, answer: Answer, sent: unknown) => {
  const known = JSON.stringify(sent)
  return before.ids.filter(id => answer.text.includes(id) && !known.includes(id))
}

const hasItem = (operation: Described) => pathParameters(operation).some(name => name !== 'platform')
const isRead = (operation: Described) => operation.method === 'GET'
const isNaming = (operation: Described) => operation.body !== null && namesSomething(exampleOf(operation))

describe.concurrent('an item of another environment', () => {
  test.for(cases.filter(({ operation }) => hasItem(operation)))('is not found by $id with the key of $other', async ({
    operation,
    other,
  }) => {
    const there = await scene(operation, other)
    const { guest, request } = there
    const answer = await guest.send(operation, request)
    const refusal = LOOKS_AT_BODY_FIRST[operation.id] ?? [404, 'not_found']
    expect([answer.status, answer.body?.error?.code]).toEqual(refusal)
    expect(leaks(there, answer, request)).toEqual([])

    // Nor where all but one of the things are the guest's own.
    for (const name of pathParameters(operation)) {
      const path = { ...(await guest.path(operation)), [name]: request.path[name]! }
      const mixed = {
        ...request,
        path,
        ...(operation.body && { body: await guest.fill(request.body, await guest.path(operation), false) }),
      }
      expect([name, (await guest.send(operation, mixed)).status]).toEqual([name, 404])
    }
    await expectUntouched(there)
  })
})

describe.concurrent('a list', () => {
  const lists = cases.filter(({ operation }) => isRead(operation) && !hasItem(operation))
  test.for(lists)('of $id holds nothing of home with the key of $other', async ({ operation, other }) => {
    const there = await scene(operation, other)
    const { guest, request } = there
    const ask = { path: request.path, query: SANDBOX_ONLY.includes(operation.id) ? {} : request.query }
    const answer = await guest.send(operation, ask)
    const refused = SANDBOX_ONLY.includes(operation.id) && other === 'the other environment'
    expect(answer.status).toBe(refused ? 403 : operation.success)
    expect(leaks(there, answer, {})).toEqual([])
    // Whatever may be asked for by name: the names of home find nothing.
    const texts = operation.parameters.filter(
      ({ in: place, schema }) => place === 'query' && schema.type === 'string' && !schema.enum && !schema.format,
    )
    for (const { name } of texts)
      for (const id of there.before.ids.filter(id => id.length <= 64).slice(0, 5)) {
        const found = await guest.send(operation, { ...ask, query: { ...ask.query, [name]: id } })
        expect([200, 400]).toContain(found.status)
        expect(leaks(there, found, id)).toEqual([])
        if (found.body.data) expect(found.text).not.toContain(`"${id}"`)
      }
    await expectUntouched(there)
  })
})

describe.concurrent('a creation', () => {
  const creations = cases.filter(({ operation }) => !isRead(operation) && !hasItem(operation) && !isOfProject(operation))
  test.for(creations)('by $id with the key of $other takes the same ids, and no thing of home', async ({ operation, other }, {
    expect,
  }) => {
    const there = await scene(operation, other)
    const { home, guest, request } = there
    if (isNaming(operation)) {
      const answer = await guest.send(operation, request)
      expect([400, 404]).toContain(answer.status)
      expect(leaks(there, answer, request)).toEqual([])
    }
    if (SANDBOX_ONLY.includes(operation.id) && other === 'the other environment') {
      expect((await guest.send(operation, request)).status).toBe(403)
    } else {
      const own = { ...request, body: await guest.fill(request.body, {}, false) }
      const answer = await guest.send(operation, own)
      expect([answer.status, answer.text]).toEqual([operation.success, answer.text])
      expect(leaks(there, answer, own)).toEqual([])
    }
    await expectUntouched(there)
    // What the guest has taken is still free at home.
    const later = await home.send(operation, request)
    expect([later.status, later.text]).toEqual([operation.success, later.text])
  })
})

describe.concurrent('the project', () => {
  const changes = cases.filter(({ operation }) => isOfProject(operation) && !isRead(operation))
  test.for(changes)('is changed by $id with its own keys only: $other', async ({ operation, other }) => {
    const there = await scene(operation, other)
    const answer = await there.guest.send(operation, await there.home.example(operation))
    expect(answer.status).toBe(operation.success)
    await expectUntouched(there, other === 'another project')
  })
})

import { expect } from 'vitest'
import type { TestApi, TestProjectKeys } from '../harness/api.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, operations } from '../harness/described.ts'
import { ENDS_KEY, type OperationRequests, operationRequests, type Request, SANDBOX_ONLY } from '../harness/operation-requests.ts'
import { idsOf, projectRowsOf, type Rows, rowsOf } from '../harness/rows.ts'

export const others = ['another project', 'the other environment'] as const
export type Other = (typeof others)[number]
export const cases = operations.flatMap(operation => others.map(other => ({ operation, other, id: operation.id })))

/** A world with things in it, and what was there before anybody else came. */
export type Home = {
  world: OperationRequests
  keys: TestProjectKeys
  environment: number
  before: { rows: Rows; project: Rows; ids: string[] }
}

const isInSandbox = (operation: Described) => SANDBOX_ONLY.includes(operation.id)

/** The project's own operations: the same under both of its keys, and nothing in them belongs to an environment. */
export const isOfProject = ({ tag }: Described) => tag === 'Project Settings'

async function looked(api: TestApi, keys: TestProjectKeys, home: OperationRequests, environment: number): Promise<Home> {
  const before = {
    rows: await rowsOf(api.pool, environment),
    project: await projectRowsOf(api.pool, keys.id),
    ids: await idsOf(api.pool, environment),
  }
  return { world: home, keys, environment, before }
}

/** Where the operation was called once. */
export async function homeOf(api: TestApi, operation: Described) {
  const keys = await api.newProject()
  const inSandbox = isInSandbox(operation)
  const home = operationRequests(api, inSandbox ? keys.sandbox : keys.secret)
  const request = await home.example(operation)
  await home.send(operation, await home.example(operation))
  return { ...(await looked(api, keys, home, inSandbox ? keys.sandboxEnvironment : keys.production)), request }
}

/** Where every operation was called that makes or changes something; `requests` are good ones of some others, by operation. */
export async function fullHome(api: TestApi, reads: Described[]): Promise<Home & { requests: Record<string, Request> }> {
  const keys = await api.newProject()
  const home = operationRequests(api, keys.secret)
  const isWrite = ({ method }: Described) => method !== 'GET' && method !== 'DELETE'
  for (const operation of operations.filter(operation => isWrite(operation) && !isInSandbox(operation) && !ENDS_KEY.includes(operation.id)))
    expect([operation.id, (await home.send(operation, await home.example(operation))).status]).toEqual([operation.id, operation.success])
  const requests: Record<string, Request> = {}
  for (const operation of reads) requests[operation.id] = await home.example(operation)
  return { ...(await looked(api, keys, home, keys.production)), requests }
}

/** The world of a key that opens nothing of the home. */
export async function guestOf(api: TestApi, operation: Described, home: Home, other: Other): Promise<OperationRequests> {
  const { secret, sandbox } = other === 'another project' ? await api.newProject() : home.keys
  return operationRequests(api, isInSandbox(operation) === (other === 'another project') ? sandbox : secret)
}

/** Whether the key may not call the operation at all. */
export const isForbidden = (operation: Described, other: Other) => isInSandbox(operation) && other === 'the other environment'

export async function expectUntouched(api: TestApi, { environment, keys, before }: Home, ofProject = true): Promise<void> {
  expect(await rowsOf(api.pool, environment)).toEqual(before.rows)
  if (ofProject) expect(await projectRowsOf(api.pool, keys.id)).toEqual(before.project)
}

/** Ids of home in an answer, except those that the guest has sent. */
export const leaks = ({ before }: Home, answer: Answer, sent: unknown): string[] => {
  const known = JSON.stringify(sent)
  return before.ids.filter(id => answer.text.includes(id) && !known.includes(id))
}

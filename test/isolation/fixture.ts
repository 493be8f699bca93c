import { expect } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { scanAlerts } from '../../domain/oversight/alerts/scan.ts'
import type { TestApi, TestProjectKeys } from '../harness/api.ts'
import { recordPurchase } from '../harness/catalogue.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, operations } from '../harness/described.ts'
import { ENDS_KEY, type OperationRequests, operationRequests, type Request, SANDBOX_ONLY } from '../harness/operation-requests.ts'
import { unique } from '../harness/resource-makers.ts'
import { idsOf, projectRowsOf, type Rows, rowsOf } from '../harness/rows.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

const others = ['another project', 'the other environment'] as const
export type Other = (typeof others)[number]
export const cases = operations.flatMap(operation => others.map(other => ({ operation, other, id: operation.id })))

/** An environment with resources, and its rows and ids before a guest, a caller with another key, sends a request. */
export type Home = {
  caller: OperationRequests
  keys: TestProjectKeys
  environment: number
  before: { rows: Rows; project: Rows; ids: string[] }
}

const isInSandbox = (operation: Described) => SANDBOX_ONLY.includes(operation.id)

async function snapshotOf(api: TestApi, keys: TestProjectKeys, home: OperationRequests, environment: number): Promise<Home> {
  // Figures fold marks before they read: no later change of the rows may come from that.
  expect(await drainMarks(api.pool, environment, 10_000)).toBe(true)
  const before = {
    rows: await rowsOf(api.pool, environment),
    project: await projectRowsOf(api.pool, keys.id),
    ids: await idsOf(api.pool, environment),
  }
  return { caller: home, keys, environment, before }
}

/** A home in which the operation has been called once. */
export async function homeOf(api: TestApi, operation: Described) {
  const keys = await api.newProject()
  const inSandbox = isInSandbox(operation)
  const home = operationRequests(api, inSandbox ? keys.sandbox : keys.secret)
  const request = await home.example(operation)
  // After a new key the caller of the home could do nothing.
  if (!ENDS_KEY.includes(operation.id)) await home.send(operation, await home.example(operation))
  return { ...(await snapshotOf(api, keys, home, inSandbox ? keys.sandboxEnvironment : keys.production)), request }
}

/** A home in which every operation that creates or changes a resource has been called; `requests`: valid requests of `reads`, by operation. */
export async function fullHome(api: TestApi, reads: Described[]): Promise<Home & { requests: Record<string, Request> }> {
  const keys = await api.newProject()
  const home = operationRequests(api, keys.secret)
  const isWrite = ({ method }: Described) => method !== 'GET' && method !== 'DELETE'
  for (const operation of operations.filter(operation => isWrite(operation) && !isInSandbox(operation) && !ENDS_KEY.includes(operation.id)))
    expect([operation.id, (await home.send(operation, await home.example(operation))).status]).toEqual([operation.id, operation.success])
  const requests: Record<string, Request> = {}
  for (const operation of reads) requests[operation.id] = await home.example(operation)
  // A chart of which there are facts wherever there are users.
  requests.v4ListAnalyticsChartFacts!.path.chart_code = 'users-overview'
  // The first reading of insights keeps them.
  await api.call('GET', '/v4/analytics/insights', { key: keys.secret })
  await storedIntegration(api.pool, keys.production, { slug: 'slack', active: 2 })
  await scanAlerts(api.pool)
  await recordPurchase(api, { product: unique('unlinked'), environment: keys.production, user: null, isUnmapped: true })
  return { ...(await snapshotOf(api, keys, home, keys.production)), requests }
}

/** A caller whose key has no access to the home. */
export async function guestOf(api: TestApi, operation: Described, home: Home, other: Other): Promise<OperationRequests> {
  const { secret, sandbox } = other === 'another project' ? await api.newProject() : home.keys
  return operationRequests(api, isInSandbox(operation) === (other === 'another project') ? sandbox : secret)
}

/** Whether the guest's key must not call the operation at all. */
export const isForbidden = (operation: Described, other: Other) => isInSandbox(operation) && other === 'the other environment'

export async function expectUntouched(api: TestApi, { environment, keys, before }: Home, ofProject = true): Promise<void> {
  expect(await rowsOf(api.pool, environment)).toEqual(before.rows)
  if (ofProject) expect(await projectRowsOf(api.pool, keys.id)).toEqual(before.project)
}

/** The ids of the home in a response, except those that the guest has sent. */
export const leaks = ({ before }: Home, response: Answer, sent: unknown): string[] => {
  const known = JSON.stringify(sent)
  return before.ids.filter(id => response.text.includes(id) && !known.includes(id))
}

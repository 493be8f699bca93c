// Every change leaves exactly one entry in the audit log.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { isOfProject, operations } from '../harness/described.ts'
import { projectFor } from '../harness/operation-project.ts'
import { unique } from '../harness/resource-makers.ts'

/** Operations without entries: facts and decisions that are stored as such, by the thousand, and operations that change nothing. */
const UNRECORDED = ['v4BacktestAutomation', 'v4CreateEvents', 'v4EvaluateUserRemoteConfigurations', 'v4PreviewSegment']

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Entry = {
  environment: number | null
  project: number
  operation: string
  actor_kind: string
  actor_id: string
  before: object | null
  after: object | null
}

async function entriesOf(request: string): Promise<Entry[]> {
  const { rows } = await api.pool.query<Entry>(
    'select environment, project, operation, actor_kind, actor_id, before, after from audit_log where request_id = $1',
    [request],
  )
  return rows
}

describe.concurrent('the audit log', () => {
  test.for(operations.filter(({ method }) => method !== 'GET'))('has one entry of $id', async operation => {
    const { requests: caller, environment, project } = await projectFor(api, operation)
    const request = unique('request')
    const answer = await caller.send(operation, await caller.example(operation), { 'X-Request-Id': request })
    expect([answer.status, answer.text]).toEqual([operation.success, answer.text])
    const entries = await entriesOf(request)
    if (UNRECORDED.includes(operation.id)) return expect(entries).toEqual([])
    const entry = {
      environment: isOfProject(operation) ? null : environment,
      project,
      operation: operation.id,
      actor_kind: 'secret_key',
      actor_id: caller.key.slice(-4),
    }
    expect(entries).toEqual([expect.objectContaining(entry)])
    if (operation.method === 'DELETE') expect(entries[0]!.after).toBeNull()
    if (operation.success === 201) expect(entries[0]!.before).toBeNull()
    expect(JSON.stringify(entries)).not.toContain(caller.key)
  })

  test.for(operations.filter(({ method }) => method === 'GET'))('has no entry of $id', async operation => {
    const { requests: caller } = await projectFor(api, operation)
    const request = unique('request')
    await caller.send(operation, await caller.example(operation), { 'X-Request-Id': request })
    expect(await entriesOf(request)).toEqual([])
  })
})

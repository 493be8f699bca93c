// A POST with an Idempotency-Key has one effect, even when it is sent many times and concurrently.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boundaries } from '../contract/boundaries.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, operations } from '../harness/described.ts'
import { countsOf, idempotencyKey, projectFor } from '../harness/operation-project.ts'
import type { OperationRequests, Request } from '../harness/operation-requests.ts'

const TIMES = 10
const repeatable = operations.filter(operation => operation.idempotent)

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const comparable = ({ status, text, headers }: Answer) => ({ status, text, location: headers.get('location') })
const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true'

/** Another valid request of the same operation. */
async function another(caller: OperationRequests, operation: Described, request: Request): Promise<Request> {
  if (!operation.body) return caller.example(operation)
  const other = boundaries(operation.body, request.body).find(
    ({ valid, whole }) => valid && JSON.stringify(whole) !== JSON.stringify(request.body),
  )
  return { ...request, body: other!.whole }
}

test('every POST accepts a key, except those whose effect needs none or whose answer, with a secret, must not be kept', () => {
  const without = operations.filter(({ method, idempotent }) => method === 'POST' && !idempotent).map(operation => operation.id)
  expect(without.sort()).toEqual([
    'v4CreateApiKey',
    'v4CreateEvents',
    'v4CreateNotificationChannel',
    'v4EvaluateUserRemoteConfigurations',
    'v4PreviewSegment',
    'v4RegenerateProjectSecret',
  ])
  expect(repeatable.filter(({ method }) => method !== 'POST')).toEqual([])
})

describe.concurrent('the same key', () => {
  test.for(repeatable)('sent twice: $id replays its response', async operation => {
    const { requests: caller, rows } = await projectFor(api, operation)
    const request = await caller.example(operation)
    const key = idempotencyKey(operation.id)
    const first = await caller.send(operation, request, key)
    expect([first.status, first.text, isReplay(first)]).toEqual([operation.success, first.text, false])
    const after = await rows()
    const second = await caller.send(operation, request, key)
    expect(comparable(second)).toEqual(comparable(first))
    expect(isReplay(second)).toBe(true)
    expect(await rows()).toEqual(after)

    const other = await another(caller, operation, request)
    // An operation without path and body has one request only.
    if (JSON.stringify(other) === JSON.stringify(request)) return
    const conflict = await caller.send(operation, other, key)
    expect([conflict.status, conflict.body?.error?.code]).toEqual([409, 'idempotency_conflict'])
  })

  test.for(repeatable)('sent many times at once: $id has one effect', async operation => {
    const alone = await projectFor(api, operation)
    expect((await alone.requests.send(operation, await alone.requests.example(operation), idempotencyKey('alone'))).status).toBe(
      operation.success,
    )

    const { requests: caller, rows } = await projectFor(api, operation)
    const request = await caller.example(operation)
    const key = idempotencyKey('at once')
    const answers = await Promise.all(Array.from({ length: TIMES }, () => caller.send(operation, request, key)))
    const done = answers.filter(answer => answer.status === operation.success)
    expect(done.filter(answer => !isReplay(answer))).toHaveLength(1)
    expect(new Set(done.map(answer => JSON.stringify(comparable(answer)))).size).toBe(1)
    for (const answer of answers.filter(answer => !done.includes(answer))) {
      expect([answer.status, answer.body?.error?.code]).toEqual([409, 'idempotency_in_progress'])
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    expect(countsOf(await rows())).toEqual(countsOf(await alone.rows()))
  })
})

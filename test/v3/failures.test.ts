// What v3 says when the service or its database fails.
import { afterEach, expect, test } from 'vitest'
import { Problem } from '../../api/errors.ts'
import { v3ErrorBody, v3ProblemOf } from '../../api/v3/errors.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { v3Client } from '../harness/v3.ts'

let api: TestApi | undefined
afterEach(async () => {
  await api?.stop()
  api = undefined
})

const failingPool = (error: Error): Pool => {
  const fail = () => Promise.reject(error)
  return { query: fail, connect: fail, end: async () => {} } as unknown as Pool
}

test.each([
  [502, 'storage_error', Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' })],
  [504, 'upstream_timeout', Object.assign(new Error('canceling statement'), { code: '57014' })],
  [500, 'unknown_error', new TypeError('secret is undefined')],
])('a database that fails: %i %s', async (status, code, error) => {
  api = await startApi({ requestPool: async () => failingPool(error), listingPool: failingPool(error) })
  for (const [method, path] of [
    ['GET', '/v3/users/x'],
    ['POST', '/v3/users/x'],
    ['GET', '/v3/identities/x'],
  ] as const) {
    const answer = await v3Client(api!)(method, path)
    expect([answer.status, answer.body]).toEqual([
      status,
      { error: { type: 'internal', code, message: expect.any(String) }, _meta: { reference: `${api!.url}/docs/errors#${code}` } },
    ])
    expect(answer.text).not.toMatch(/secret|10\.0/)
  }
})

const refusal = (error: unknown) => {
  const problem = v3ProblemOf(error)
  return [problem.status, v3ErrorBody(problem, '').error] as const
}

test('the refusals of the domain in the words of v3', () => {
  expect(refusal(new Refusal('already_exists', 'taken'))).toEqual([422, { type: 'resource', code: 'already_exists', message: 'taken' }])
  expect(refusal(new Refusal('not_found', 'user not found'))[1].message).toBe('User not found')
  expect(refusal(new Refusal('not_found', 'experiment not found'))[1].message).toBe('Not found')
  expect(refusal(new Refusal('conflict', 'archived'))).toEqual([422, { type: 'logical', code: 'relation_not_found', message: 'archived' }])
  expect(refusal(new Refusal('network_error', 'apple'))).toEqual([
    502,
    { type: 'internal', code: 'network_error', message: 'Store is not reachable' },
  ])
  expect(refusal(new Problem('invalid_request', 'too large', { status: 413 }))[0]).toBe(413)
})

test('a field has one entry with all of its messages', () => {
  const details = [
    { field: 'a', message: '1' },
    { field: 'b', message: '2' },
    { field: 'a', message: '3' },
  ]
  expect(v3ErrorBody(v3ProblemOf(new Refusal('invalid_data', 'x', details)), 'https://example.com')._meta).toEqual({
    reference: 'https://example.com/docs/errors#invalid_data',
    fields: [
      { name: 'a', messages: ['1', '3'] },
      { name: 'b', messages: ['2'] },
    ],
  })
})

// SDKs ask for tokens of purchases in the web; the service has none.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const REQUESTS: [string, object][] = [
  ['/v4/web/redeem', { token: 'abc', user_id: 'QON_0123456789abcdef0123456789abcdef' }],
  ['/v4/web/redeem/status', { token: 'abc' }],
  ['/v4/web/redeem/reissue', { email: 'ada@example.com' }],
]

test.each(REQUESTS)('%s: no such token, in the shape of v4', async (path, body) => {
  for (const key of [api.project.projectKey, `test_${api.project.projectKey}`]) {
    const answer = await api.call('POST', path, { key, body })
    expect([answer.status, answer.body]).toEqual([404, { error: { type: 'resource', code: 'not_found', message: 'token not found' } }])
  }
})

test('a key is needed, and other addresses and methods are unknown as before', async () => {
  const key = api.project.projectKey
  expect((await api.call('POST', '/v4/web/redeem', { key: 'unknown', body: {} })).status).toBe(401)
  for (const [method, path] of [
    ['GET', '/v4/web/redeem'],
    ['POST', '/v4/web/other'],
  ] as const) {
    const answer = await api.call(method, path, { key })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'invalid_request'])
  }
})

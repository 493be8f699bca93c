// A dry run over HTTP, case by case.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const DRY = { 'Dry-Run': 'true' }

test('tells the status and the changes of the real call', async () => {
  const answer = await api.call('POST', '/v4/users', { body: { environment: 'prod' }, headers: DRY })
  expect([answer.status, answer.body]).toEqual([200, { object: 'dry_run', status: 201, changes: [expect.anything()], truncated: false }])
})

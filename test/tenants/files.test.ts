import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { startS3, type TestS3 } from '../harness/s3.ts'
import { until } from '../harness/until.ts'

// The storage takes the files of project B only, until the test has ended.
let api: TestApi
let s3: TestS3
const taken: string[] = []
let isOver = false
beforeAll(async () => {
  s3 = await startS3()
  s3.befalls = async ({ url }) => {
    await until('the storage takes the file', () => isOver || taken.some(id => url.includes(id)) || undefined)
    return undefined
  }
  api = await startApi({ worker: true, leaseMs: 30_000, s3 })
})
afterAll(async () => {
  isOver = true
  await api.stop()
  await s3.end()
})

async function exported({ secret: key }: TestProjectKeys): Promise<string> {
  const body = { type: 'events', from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: new Date(Date.now() + 60_000).toISOString() }
  const answer = await api.call('POST', '/v4/exports', { key, body })
  expect([answer.status, answer.text]).toEqual([202, answer.text])
  return answer.body.id
}

test('files of one project that the storage does not take hold up no file of another one', async () => {
  await api.call('POST', '/v4/events', { body: { events: [item()] } })
  for (let n = 0; n < 6; n++) await exported(api.project)
  await until('the files of A hang', () => s3.requests.length >= 2 || undefined)

  const other = await api.newProject()
  await api.call('POST', '/v4/events', { key: other.secret, body: { events: [item()] } })
  const id = await exported(other)
  taken.push(id)
  const done = await until('the file of B', async () => {
    const { body } = await api.call('GET', `/v4/exports/${id}`, { key: other.secret })
    return body.status === 'done' ? body : undefined
  })
  expect(done.manifest.rows).toBe(1)
})

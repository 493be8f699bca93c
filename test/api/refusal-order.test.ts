// Which refusal a request gets that deserves several.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const faulty: [string, { raw: string; headers?: Record<string, string> }][] = [
  ['of another media type', { raw: '{}', headers: { 'Content-Type': 'text/plain' } }],
  ['over the limit', { raw: JSON.stringify({ by: 'x'.repeat(8 * 1024 * 1024 + 1) }) }],
  ['malformed', { raw: '{' }],
  ['with a malformed Idempotency-Key', { raw: '{}', headers: { 'Idempotency-Key': 'x'.repeat(256) } }],
  ['with an unknown field', { raw: '{"colour":1}' }],
]

describe('a 403 by the key alone comes first', () => {
  test.each(faulty)('the test clock with a production key, and a body %s', async (_name, options) => {
    const answer = await api.call('POST', '/v4/test-clock/advance', options)
    expect([answer.status, answer.body?.error.code]).toEqual([403, 'control_forbidden'])
    expect((await api.call('GET', '/v4/test-clock?colour=1')).status).toBe(403)
  })

  test('the Project Key, on every operation with a body', async () => {
    const key = api.project.projectKey
    for (const { method, path } of descriptions.filter(({ body }) => body !== null)) {
      const url = path.replaceAll(/\{\w+\}/g, 'a%20b')
      const answers = await Promise.all(faulty.slice(2).map(([, options]) => api.call(method, url, { key, ...options })))
      expect([method, path, ...answers.map(({ status }) => status)]).toEqual([method, path, 403, 403, 403])
    }
  })
})

describe('a 403 by the body or by the resource comes after the validation', () => {
  const store = (body: object) => api.call('POST', '/v4/project-settings/stores/apple', { body })

  test('switching a store off', async () => {
    const answer = await store({ enabled: false, iap_private_key: 'no PEM' })
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, 'iap_private_key'])
    expect((await store({ enabled: false, colour: 1 })).status).toBe(400)
    // Before a 422: nothing is looked at that the caller may not do.
    expect((await store({ enabled: false, connect_issuer_id: 'x' })).status).toBe(403)
  })

  test('changing a system segment', async () => {
    const put = (conditions: object[]) => api.call('PUT', '/v4/segments/never_paid', { body: { name: 'x', conditions } })
    const answer = await put([{ metric: 'mood', comparator: 'eq', value: 'good' }])
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, 'conditions[0].metric'])
    expect((await put([{ metric: 'country', comparator: 'eq', value: 'DE' }])).status).toBe(403)
  })
})

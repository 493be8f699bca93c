import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { operations } from '../harness/described.ts'
import { requestsIn } from '../harness/operation-requests.ts'

/** What a read may ask the database, beside the key, which is remembered for some seconds. */
const STATEMENTS = 2
/** What is the same for everybody. */
const FIXED = ['v4GetIntegrationsMeta']
const isBeside = (query: Query) => /^(begin|commit|rollback|set transaction)/i.test(textOf(query)) || nameOf(query) === 'find-key'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Query = string | { text: string; name?: string }
const textOf = (query: Query) => (typeof query === 'string' ? query : query.text)
const nameOf = (query: Query) => (typeof query === 'string' ? undefined : query.name)

describe('a read asks the database at most twice', () => {
  const reads = operations.filter(({ id, method }) => method === 'GET' && !FIXED.includes(id))

  test.each(reads.map(operation => [operation.id, operation] as const))('%s', async (_, operation) => {
    const world = await requestsIn(api, operation)
    const request = await world.example(operation)
    expect((await world.send(operation, request)).status).toBe(operation.success)
    const asked = vi.spyOn(pg.Client.prototype, 'query')
    try {
      await world.send(operation, request)
      const texts = (asked.mock.calls as unknown as [Query][])
        .map(([query]) => query)
        .filter(query => !isBeside(query))
        .map(textOf)
      expect(texts.length).toBeGreaterThan(0)
      expect(texts.length, texts.join('\n')).toBeLessThanOrEqual(STATEMENTS)
    } finally {
      asked.mockRestore()
    }
  })
})

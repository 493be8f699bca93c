import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, operations } from '../harness/described.ts'
import { requestsIn } from '../harness/operation-requests.ts'

/** How many statements a read may send. The lookup of the key does not count: the API caches keys for some seconds. */
const STATEMENTS = 2
/** Figures also look for marks and the state of the facts, and read words, products and sets of users by their keys. */
const STATEMENTS_OF_FIGURES = 10
/** Figures of screens read their screen, too, or the log. */
function allowance({ id, tag }: Described): number {
  // From when on it knows what changed a number.
  if (id === 'v4ExplainAnalyticsChart') return STATEMENTS_OF_FIGURES + 1
  // It counts the request under a lock, and reads entities, days and spend beside users, trials and revenue.
  if (id === 'v4GetAppleAdsReport') return STATEMENTS_OF_FIGURES + 9
  if (tag === 'Analytics') return STATEMENTS_OF_FIGURES
  // A run is shown with its automation, and with when its next step begins.
  if (id === 'v4GetAutomationRun') return STATEMENTS + 2
  // A customer is folded first, where there is a mark.
  if (id === 'v4GetCustomer') return STATEMENTS + 1
  return id.includes('Analytics') ? STATEMENTS_OF_FIGURES + STATEMENTS : STATEMENTS
}
/** Reads whose response is constant. */
const FIXED = ['v4GetIntegrationsMeta']
/** What frames a transaction or a new connection, the lookup of the key, and notifications of requests before. */
const isBeside = (query: Query) =>
  /^(begin|commit|rollback|set transaction|select set_config)/i.test(textOf(query)) || ['find-key', 'notify'].includes(nameOf(query) ?? '')

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Query = string | { text: string; name?: string }
const textOf = (query: Query) => (typeof query === 'string' ? query : query.text)
const nameOf = (query: Query) => (typeof query === 'string' ? undefined : query.name)

describe('a read sends few statements to the database', () => {
  const reads = operations.filter(({ id, method }) => method === 'GET' && !FIXED.includes(id))

  test.each(reads.map(operation => [operation.id, operation] as const))('%s', async (_, operation) => {
    const caller = await requestsIn(api, operation)
    const request = await caller.example(operation)
    expect((await caller.send(operation, request)).status).toBe(operation.success)
    const query = vi.spyOn(pg.Client.prototype, 'query')
    try {
      await caller.send(operation, request)
      const texts = (query.mock.calls as unknown as [Query][])
        .map(([statement]) => statement)
        .filter(statement => !isBeside(statement))
        .map(textOf)
      expect(texts.length).toBeGreaterThan(0)
      expect(texts.length, texts.join('\n')).toBeLessThanOrEqual(allowance(operation))
    } finally {
      query.mockRestore()
    }
  })
})

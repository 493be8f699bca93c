import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  // Eleven instants with eight events each, so that there are many ties.
  const events = Array.from({ length: 88 }, (_, i) => item({ happened_at: `2026-01-01T00:00:${10 + (i % 11)}.5Z` }))
  await api.call('POST', '/v4/events', { body: { events } })
})
afterAll(() => api.stop())

type Event = { id: string; happened_at: string }
const list = (query: string) => api.call('GET', `/v4/events${query}`)

describe('pages', () => {
  test.each(['asc', 'desc'])('two pages of 40 and the rest, %s: every event once, in one order', async order => {
    const pages = [0, 40, 80].map(offset => list(`?limit=40&offset=${offset}&sort_order=${order}`))
    const bodies = (await Promise.all(pages)).map(page => page.body)
    expect(bodies.map(body => [body.data.length, body.has_more])).toEqual([
      [40, true],
      [40, true],
      [8, false],
    ])
    const events: Event[] = bodies.flatMap(body => body.data)
    expect(new Set(events.map(event => event.id)).size).toBe(88)
    const sorted = [...events].sort((a, b) =>
      a.happened_at === b.happened_at ? (a.id < b.id ? -1 : 1) : a.happened_at < b.happened_at ? -1 : 1,
    )
    expect(events).toEqual(order === 'asc' ? sorted : sorted.reverse())
  })

  test('defaults: 20, newest first, no cursor, Cache-Control', async () => {
    const { body, headers } = await list('')
    expect(body).toMatchObject({ object: 'list', url: '/v4/events', has_more: true })
    expect(body.data).toHaveLength(20)
    expect(Object.keys(body)).not.toContain('next_cursor')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(body.data[0]).toEqual({
      object: 'event',
      id: expect.stringMatching(/^evt_/),
      url: `/v4/events/${body.data[0].id}`,
      event_name: 'in_app_purchase',
      customer_uid: null,
      happened_at: '2026-01-01T00:00:20Z',
      event_id: expect.stringMatching(/^e-\d+$/),
      properties: {},
    })
  })

  test('a page past the end is empty', async () => {
    expect((await list('?offset=100000')).body).toEqual({ object: 'list', url: '/v4/events', data: [], has_more: false })
  })
})

describe('refused', () => {
  test.each([
    ['?limit=0', 'limit'],
    ['?limit=41', 'limit'],
    ['?limit=x', 'limit'],
    ['?limit=', 'limit'],
    ['?limit=1.0', 'limit'],
    ['?limit=1&limit=2', 'limit'],
    ['?offset=-1', 'offset'],
    ['?offset=100001', 'offset'],
    ['?offset=99999999999999999999', 'offset'],
    ['?sort_order=up', 'sort_order'],
    ['?sort_order=', 'sort_order'],
    ['?page=1', 'page'],
    ['?constructor=1', 'constructor'],
    ['?__proto__=1', '__proto__'],
    ['?limit=%zz', 'limit'],
    ['?sort_order=a%00b', 'sort_order'],
  ])('%s', async (query, field) => {
    const answer = await list(query)
    expect(answer.status).toBe(400)
    expect(answer.body.error).toMatchObject({ type: 'request', code: 'invalid_data' })
    expect(answer.body.error.details.map((detail: { field: string }) => detail.field)).toEqual([field])
  })

  test('all faulty parameters are named at once', async () => {
    const { body } = await list('?limit=0&offset=-1&foo=1')
    expect(body.error.details.map((detail: { field: string }) => detail.field).sort()).toEqual(['foo', 'limit', 'offset'])
  })
})

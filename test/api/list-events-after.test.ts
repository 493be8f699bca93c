import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

type Event = { id: string; event_name: string; customer_uid: string | null; happened_at: string }

let api: TestApi
/** All events, as the documented list gives them, oldest first. */
let all: Event[]
const list = (query: string) => api.call('GET', `/v4/events${query}`)
const encoded = (query: string) => query.replaceAll('[', '%5B').replaceAll(']', '%5D')

/** Every page of a list: each after the cursor of the page before. */
async function pages(query: string): Promise<Event[]> {
  const found: Event[] = []
  for (let cursor = ''; ; ) {
    const { status, body, text } = await list(`?${encoded(query)}${cursor}`)
    expect(status, text).toBe(200)
    expect('next_cursor' in body).toBe(body.has_more)
    found.push(...body.data)
    if (!body.has_more) return found
    cursor = `&starting_after=${body.next_cursor}`
  }
}

beforeAll(async () => {
  api = await startApi()
  // Eleven instants with eight events each, so that there are many ties; every third is rare, every second of a person.
  const events = Array.from({ length: 88 }, (_, i) =>
    item({
      happened_at: `2026-01-01T00:00:${10 + (i % 11)}.5Z`,
      ...(i % 3 === 0 && { event_name: 'rare', price: undefined, currency: undefined }),
      ...(i % 2 === 0 && { identity_id: `person-${i % 4}` }),
    }),
  )
  expect((await api.call('POST', '/v4/events', { body: { events } })).status).toBe(200)
  all = []
  for (let offset = 0; offset < 88; offset += 40) all.push(...(await list(`?limit=40&sort_order=asc&offset=${offset}`)).body.data)
}, 60_000)
afterAll(() => api.stop())

describe('pages by cursor', () => {
  test.each([
    ['asc', '&filter[to]=2027-01-01T00:00:00Z'],
    ['desc', '&filter[from]=2025-01-01T00:00:00Z'],
    ['asc', '&filter[event_name][]=rare'],
    ['desc', '&filter[event_name][]=rare&filter[event_name][]=trial_started'],
    ['desc', '&filter[from]=2026-01-01T00:00:12Z&filter[to]=2026-01-01T00:00:18.5Z'],
    ['asc', '&filter[from]=2026-01-01T00:00:12Z&filter[to]=2026-01-01T00:00:18.6Z&filter[event_name][]=rare'],
  ])('%s %s: as the list of all has them', async (order, filter) => {
    const query = new URLSearchParams(filter)
    const [from, to] = [query.get('filter[from]'), query.get('filter[to]')]
    const names = query.getAll('filter[event_name][]')
    // Each event happened at half a second, of which lists show the whole one. A fraction of the request is cut off.
    const wanted = all.filter(
      ({ event_name, happened_at }) =>
        (names.length === 0 || names.includes(event_name)) &&
        (!from || happened_at >= from) &&
        (!to || happened_at < `${to.slice(0, 19)}Z`),
    )
    expect(wanted.length).toBeGreaterThan(10)
    for (const limit of [3, 8, 40]) {
      const found = await pages(`limit=${limit}&sort_order=${order}${filter}`)
      expect(found).toEqual(order === 'asc' ? wanted : [...wanted].reverse())
    }
  })

  test('of one user, in both orders, also by name', async () => {
    const user = all.find(({ customer_uid }) => customer_uid)!.customer_uid!
    const own = all.filter(({ customer_uid }) => customer_uid === user)
    expect(own.length).toBeGreaterThan(10)
    for (const limit of [1, 7]) {
      expect(await pages(`limit=${limit}&sort_order=asc&filter[customer_uid]=${user}`)).toEqual(own)
      expect(await pages(`limit=${limit}&filter[customer_uid]=${user}`)).toEqual([...own].reverse())
      expect(await pages(`limit=${limit}&sort_order=asc&filter[customer_uid]=${user}&filter[event_name][]=rare`)).toEqual(
        own.filter(({ event_name }) => event_name === 'rare'),
      )
    }
    expect((await list(encoded('?filter[customer_uid]=nobody'))).body).toMatchObject({ data: [], has_more: false })
  })

  test('a uid of the catalogue is its slug; a name that is none finds nothing', async () => {
    expect((await list(encoded('?filter[event_name][]=16&limit=1'))).body.data[0].event_name).toBe('in_app_purchase')
    expect((await list(encoded("?filter[event_name][]=' or 1=1"))).body.data).toEqual([])
  })

  test('begin anew after a cursor that names no event, and refuse an offset beside it', async () => {
    const { headers, body } = await list('?starting_after=evt_gone&limit=5')
    expect(headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(body.data).toEqual([...all].reverse().slice(0, 5))
    const refused = await list(encoded('?filter[event_name][]=rare&offset=20'))
    expect([refused.status, refused.body.error?.details[0].field]).toEqual([400, 'offset'])
    expect((await list('?starting_after=x&offset=0')).status).toBe(200)
    for (const wrong of ['?filter[from]=yesterday', '?filter[customer_uid]=', '?starting_after=a%20b'])
      expect((await list(encoded(wrong))).status, wrong).toBe(400)
  })
})

test('a rare name far back: pages go on from where the look ended, and none is left out', { timeout: 60_000 }, async () => {
  // Fills one environment beside the API: 25,000 events of another name after one of the name.
  const { sandboxEnvironment: environment, sandbox: key } = api.project
  await api.pool.query(
    `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
     select $1, 0, n, 'evt_' || lpad(n::text, 20, '0'), 'e' || n, case when n in (0, 12000, 25000) then 'needle' else 'hay' end,
       case when n % 2 = 0 then 'person' end, t + n / 4 * interval '1 second', t
     from generate_series(0, 25000) n, (select timestamptz '2026-01-01' as t) t`,
    [environment],
  )
  for (const [query, order] of ['', '&filter[customer_uid]=person'].flatMap(user => ['asc', 'desc'].map(order => [user, order] as const))) {
    const found: string[] = []
    let requests = 0
    for (let cursor = ''; ; requests++) {
      const { body } = await api.call('GET', encoded(`/v4/events?filter[event_name][]=needle&sort_order=${order}${query}${cursor}`), {
        key,
      })
      found.push(...body.data.map(({ id }: Event) => Number(id.slice(4))))
      if (!body.has_more) break
      cursor = `&starting_after=${body.next_cursor}`
    }
    expect(found, `${order} ${query}`).toEqual(order === 'asc' ? [0, 12_000, 25_000] : [25_000, 12_000, 0])
    expect(requests).toBe(query === '' ? 2 : 1)
  }
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { all, perennial } from '../../clients/typescript/src/index.ts'
import { CATALOGUE } from '../../domain/events/catalogue.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
const post = async (...events: object[]) =>
  expect((await api.call('POST', '/v4/events', { body: { trigger: false, events } })).status).toBe(200)
const custom = (event_name: string, hours: number) => item({ event_name, price: undefined, currency: undefined, happened_at: ago(hours) })
const catalogue = async (key?: string) => (await api.call('GET', '/v4/events/catalogue', key ? { key } : {})).body

test('the names of events with their counts: the most frequent first, the catalogue whole', async () => {
  const times = [1, 2, 23, 25, 167, 169]
  await post(...times.map(hours => custom('signed_up', hours)), custom('opened', 30), item({ happened_at: ago(3) }))
  const { data, ...list } = await catalogue()
  expect(list).toMatchObject({ object: 'list', url: '/v4/events/catalogue', has_more: false })
  expect(Date.parse(list.as_of) - Date.parse(list.counted_since)).toBe(7 * 24 * 3_600_000)
  expect(data[0]).toEqual({
    ...{ object: 'event_type', event_name: 'signed_up', title: 'signed_up', uid: null },
    ...{ count_24h: 3, count_7d: 5, counted: 5, last_happened_at: expect.any(String) },
  })
  expect(Math.abs(Date.parse(data[0].last_happened_at) - Date.now() + 3_600_000)).toBeLessThan(60_000)
  const named = new Map(data.map((type: { event_name: string }) => [type.event_name, type]))
  expect(named.get('opened')).toMatchObject({ count_24h: 0, count_7d: 1 })
  expect(named.get('in_app_purchase')).toMatchObject({ title: 'In-App Purchase', uid: '16', count_24h: 1, count_7d: 1 })
  expect(named.get('trial_started')).toMatchObject({ uid: '1', count_24h: 0, count_7d: 0, counted: 0, last_happened_at: null })
  expect(data).toHaveLength(2 + CATALOGUE.length)
  expect((await catalogue(api.project.sandbox)).data).toHaveLength(CATALOGUE.length)
})

test('of more than 200,000 events the newest are counted, and a count that is not known is null', { timeout: 120_000 }, async () => {
  const { sandboxEnvironment: environment, sandbox } = api.project
  await api.pool.query(
    `insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at)
     select $1, 1, n, 'evt_x' || n, 'x' || n, case when n % 4 = 0 then 'some' else 'most' end, now() - n * interval '0.864 seconds', now()
     from generate_series(1, 210000) n`,
    [environment],
  )
  const { data, counted_since, as_of } = await catalogue(sandbox)
  expect(data.slice(0, 2)).toMatchObject([
    { event_name: 'most', counted: 150_000, count_7d: null },
    { event_name: 'some', counted: 50_000, count_7d: null },
  ])
  expect(data[0].count_24h).toBeGreaterThan(74_900)
  expect(data[0].count_24h).toBeLessThanOrEqual(75_000)
  expect((Date.parse(as_of) - Date.parse(counted_since)) / 3_600_000).toBeCloseTo(48, 0)
})

test('of very many names the most frequent are listed, and the catalogue has its counts beside them', async () => {
  const { production: environment, secret } = await api.newProject()
  await api.pool.query(
    `insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at)
     select $1, 1, n, 'evt_n' || n, 'n' || n, case when n = 0 then 'trial_started' else 'name_' || n / 2 end, now() - interval '1 hour', now()
     from generate_series(0, 2201) n`,
    [environment],
  )
  const { data } = await catalogue(secret)
  expect(data).toHaveLength(1_000 + CATALOGUE.length - 1)
  const at = data.findIndex((type: { event_name: string }) => type.event_name === 'trial_started')
  expect(data[at]).toMatchObject({ count_24h: 1, count_7d: 1, counted: 1, last_happened_at: expect.any(String) })
  expect(data.slice(0, at).every((type: { counted: number }) => type.counted >= 1)).toBe(true)
  expect(data.slice(at + 1).every((type: { counted: number }) => type.counted <= 1)).toBe(true)
})

test('one event is found by the id that lists have, with its properties', async () => {
  await post({ ...custom('with_properties', 1), properties: { plan: 'annual', seats: 3, trial: true } })
  const [listed] = (await api.call('GET', '/v4/events?filter%5Bevent_name%5D%5B%5D=with_properties')).body.data
  const { status, body } = await api.call('GET', `/v4/events/${listed.id}`)
  expect([status, body]).toEqual([200, listed])
  expect(body.properties).toEqual({ plan: 'annual', seats: 3, trial: true })
})

test('the loop of the client over all pages reads the whole list of events, whose first page has no cursor', async () => {
  const client = perennial({ url: api.url, key: api.project.secret })
  const ids: string[] = []
  for await (const { id } of all(client.v4ListEvents, { query: { limit: 2 } })) ids.push(id)
  const { rows } = await api.pool.query('select id from events where environment = $1 order by happened_at desc, id desc', [
    api.project.production,
  ])
  expect(ids).toEqual(rows.map(({ id }) => id))
  expect(ids.length).toBeGreaterThan(6)
})
